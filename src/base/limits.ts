/** All limits. Each name contains the unit. The code that adds data checks the limit. */
export const LIMITS = {
  /** Request bodies of callers with a valid token. */
  bodyBytesMax: 32 * 1024 * 1024,
  /** A body that is read before the token is checked. */
  openBodyBytesMax: 64 * 1024,
  /** Largest body on paths that accept PGP keys. */
  keyBodyBytesMax: 1024 * 1024,
  /** Total of pending request bodies without a valid token. Beyond it, the oldest one is rejected. */
  openBodiesBytesMax: 16 * 1024 * 1024,
  /** Total of larger bodies from their first byte to their response. Beyond it, further ones wait. */
  largeBodiesBytesMax: 40 * 1024 * 1024,
  /** Larger bodies that may wait. */
  largeBodiesWaitingMax: 256,
  /**
   * While others wait, a larger body gets this time plus one second per `largeBodyBytesPerSecondMin` bytes; after that
   * it is rejected.
   */
  largeBodyGraceMs: 5000,
  largeBodyBytesPerSecondMin: 512 * 1024,
  /**
   * Total of read responses of 64 KiB and more, from creation until the clients have received them. Beyond it, further
   * ones wait.
   */
  largeAnswersBytesMax: 40 * 1024 * 1024,
  largeAnswersWaitingMax: 256,
  /** While others wait, a client that has not received its response after this time is disconnected. */
  largeAnswerPatienceMs: 10_000,
  /** Members and elements of a JSON body, or parameters of a form. Each object and array also counts as one. */
  jsonValuesMax: 100_000,
  /** Members and elements of a body without a valid token that is larger than `openBodyBytesMax`. */
  openJsonValuesMax: 4096,
  /** Length of one number in a JSON text. */
  jsonNumberCharactersMax: 1024,
  /** The text of one field, except for fields that hold documents. Longer than any policy. */
  fieldCharactersMax: 1024 * 1024,
  /** A number, duration or Boolean as text. */
  scalarCharactersMax: 128,
  /** Elements of a list field. */
  listElementsMax: 10_000,
  /** A snapshot to restore. It is held in memory, and read only if the token permits a restore. */
  snapshotBytesMax: 512 * 1024 * 1024,
  /** Response body of an outgoing request; a snapshot may be larger. */
  answerBytesMax: 64 * 1024 * 1024,
  /** Body of a response that is known to be small, for example a status or an activation bundle. */
  smallAnswerBytesMax: 1024 * 1024,
  jsonDepthMax: 300,
  /**
   * A file named by a user: configuration, topology, drill, keys, certificate, policy. Values and snapshots have larger
   * limits.
   */
  namedFileBytesMax: 1024 * 1024,
  /** Nesting levels of a YAML file. */
  yamlDepthMax: 64,
  /** Policies and configuration files. */
  hclCharactersMax: 1024 * 1024,
  hclDepthMax: 100,
  headerBytesMax: 32 * 1024,
  /** The request ID received from another cluster. */
  requestIdBytesMax: 256,
  /** A TLS handshake on an API listener, from the connection to its end. */
  handshakeMs: 10_000,
  headerReadMs: 10_000,
  bodyReadMs: 30_000,
  requestMs: 90_000,
  idleMs: 300_000,
  connectionsMax: 4096,
  /** Requests that wait during a role change, and the total of their bodies. */
  waitingRequestsMax: 1024,
  waitingBytesMax: 64 * 1024 * 1024,
  /** Time that pending requests have to complete at shutdown. */
  drainMs: 10_000,
  /** Web pages that a server sends its status to each second. */
  ownFeedReadersMax: 32,
  /** A replication message on the cluster port, in both directions. */
  rpcMessageBytesMax: 64 * 1024 * 1024,
  /** Values of one transaction, which must fit into a replication message. */
  transactionBytesMax: 48 * 1024 * 1024,
  /** Maximum log size while a resync reads from a snapshot, unless the retention is larger. */
  walPinnedEntriesMax: 1_048_576,
  walPinnedBytesMax: 4 * 1024 * 1024 * 1024,
  /** Lowest retention of the log. */
  walRetentionEntriesMin: 16,
  /** Total size of the transactions in one commit. A larger transaction is committed alone. */
  commitBytesMax: 8 * 1024 * 1024,
  /** Loss records to keep; the oldest is removed first. */
  lossesMax: 16,
  /** Entries listed in one loss record. The record states how many more there are. */
  lossEntriesMax: 50_000,
  /** Log frames stored with one loss record. */
  lossFrameBytesMax: 32 * 1024 * 1024,
  /** Data up to this size is verified before it is served after a crash; larger data is verified in the background. */
  startCheckBytesMax: 64 * 1024 * 1024,
  /** Shortest lease of a leader; etcd does not support shorter leases. */
  leaderLeaseMsMin: 2000,
  /** Key shares of a seal. */
  sharesMax: 255,
  shareBytesMin: 16,
  shareBytesMax: 33,
  otpLength: 28,
  /** Length of one PGP key, in any encoding. */
  pgpKeyCharactersMax: 32 * 1024,
  hmacInputBytesMax: 4096,
  roleNameBytesMax: 4095,
  /** Items of one batch of a transit request. */
  transitBatchItemsMax: 10_000,
  /** Length of the context of a derived key. The library's limit is the same. */
  transitContextBytesMax: 1024,
  transitRandomBytesMax: 128 * 1024,
  /** Versions of a transit key that are not trimmed. All versions are in one record. */
  transitKeyVersionsMax: 1000,
  /** Each step doubles the time to hash a password; 14 takes about a second. */
  bcryptCostMax: 14,
  /** Passwords that wait for the one being hashed. */
  passwordsWaitingMax: 128,
  /** Passwords of one client address that wait. */
  passwordsPerSourceMax: 32,
  /** The name that an auth method gives a user, and the name of an entity. */
  aliasNameBytesMax: 4096,
  secondariesMax: 1024,
  /** Certificates of nodes that were removed from a cluster. Beyond it, no further node can join. */
  revokedNodesMax: 4096,
  /** Unauthenticated connections on the cluster port. Beyond it, the oldest is closed. */
  clusterHandshakesMax: 128,
  /** Secondaries that may resync at the same time, because each holds a snapshot. */
  syncSessionsMax: 16,
  /** Verified identities that simulated transports cache. */
  simulatedIdentitiesMax: 256,
  secondaryIdBytesMax: 256,
  filterPathsMax: 10_000,
  /** Filters of registered secondaries and of unknown IDs. */
  filtersMax: 2048,
  /** Mounts that one filter remembers as unmounted, or as moved, while they were filtered. */
  filterMountsKeptMax: 10_000,
  activationTtlSecondsMax: 768 * 3600,
  /** The path of one access rule. */
  rulePathCharactersMax: 8192,
  /** Metadata of an entity or an alias: the number of keys, and the size of each key and value. */
  identityTextsMax: 64,
  identityTextNameBytesMax: 128,
  identityTextBytesMax: 512,
  /** Series of counted events, by name and labels. */
  metricSeriesMax: 10_000,
  /** The number of last events from which the quantiles of a metric are computed. */
  metricSamplesMax: 1000,
  /** Cached access rules per (policies, namespace, entity). */
  aclCacheEntriesMax: 4096,
  /** The printed data of one audit entry. Larger data is replaced by one hash. */
  auditDataBytesMax: 128 * 1024,
  /** Longer stored JSON is hashed as a whole in audit entries, without parsing. */
  auditParsedCharactersMax: 1024 * 1024,
  /** A warning or an error in an audit entry; longer texts are truncated. */
  auditTextCharactersMax: 4096,
  /** Timeout of one write to an audit device. */
  auditWriteMs: 5000,
  /** Lines that wait for a slow audit file. */
  auditWaitingBytesMax: 16 * 1024 * 1024,
  /** The newest lines of audit devices that are kept for inspection, and the size of each. */
  auditTailLines: 200,
  auditTailCharactersMax: 16 * 1024,
  /**
   * Minimum free disk space of an audit file for requests to be accepted: it must hold the entries of their responses.
   */
  auditHeadroomBytes: 1024 * 1024,
  /** Cached decrypted values: their number, and the stored size of each. */
  decryptedValuesMax: 2048,
  decryptedValueBytesMax: 2048,
  /** Cached hashes of RoleIDs and accessors per mount: their number, and the length of each input. */
  saltedTextsMax: 1024,
  saltedTextCharactersMax: 64,
  /** Cached stored values: their number, and the size of each including its key. */
  recentValuesMax: 4096,
  recentValueBytesMax: 2048,
  /** Cached keys without a value. */
  recentAbsencesMax: 1024,
} as const

/** 768 hours: the default and maximum lease TTL of a mount unless configured, in seconds. */
export const DEFAULT_LEASE_TTL_SECONDS = 2_764_800
