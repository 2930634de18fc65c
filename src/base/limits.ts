/** Every bound of the product, by name and unit, checked by whoever writes. */
export const LIMITS = {
  /** Request bodies of callers whose token is good (RELIABILITY P11). */
  bodyBytesMax: 32 * 1024 * 1024,
  /** A body that is read before anybody has looked at a token. */
  openBodyBytesMax: 64 * 1024,
  /** Largest body on paths that take PGP keys. */
  keyBodyBytesMax: 1024 * 1024,
  /** Bodies under way that no token speaks for, all together; the one that takes longest gives way. */
  openBodiesBytesMax: 16 * 1024 * 1024,
  /** Larger bodies from their first byte to their answer, all together; further ones wait. */
  largeBodiesBytesMax: 40 * 1024 * 1024,
  /** Larger bodies that wait for that. */
  largeBodiesWaitingMax: 256,
  /** While others wait, a larger body gets this time and a second more for each so many of its bytes, or gives way. */
  largeBodyGraceMs: 5000,
  largeBodyBytesPerSecondMin: 512 * 1024,
  /** Read answers of 64 KiB and more, from their making until their clients have them; further ones wait. */
  largeAnswersBytesMax: 40 * 1024 * 1024,
  largeAnswersWaitingMax: 256,
  /** While others wait, a client that has not taken its answer by then is cut. */
  largeAnswerPatienceMs: 10_000,
  /** Members and elements of a JSON body, or parameters of a form, each object and array counting once more. */
  jsonValuesMax: 100_000,
  /** Members and elements of a body that no token speaks for and that is larger than `openBodyBytesMax`. */
  openJsonValuesMax: 4096,
  /** Length of one number in a JSON text. */
  jsonNumberCharactersMax: 1024,
  /** The text of one field but those that hold documents; longer than any policy. */
  fieldCharactersMax: 1024 * 1024,
  /** A number, a duration or a yes or no as text. */
  scalarCharactersMax: 128,
  /** Elements of one field that is a list. */
  listElementsMax: 10_000,
  /** A snapshot to be restored: held in memory, and read only for who may restore it. */
  snapshotBytesMax: 512 * 1024 * 1024,
  /** The body of an answer to a request that we send; a snapshot may be larger. */
  answerBytesMax: 64 * 1024 * 1024,
  /** The body of an answer that is known to be small, such as a status or an activation bundle. */
  smallAnswerBytesMax: 1024 * 1024,
  jsonDepthMax: 300,
  /** A file that a person named: configuration, topology, drill, keys, certificate, policy. Values and snapshots have larger limits. */
  namedFileBytesMax: 1024 * 1024,
  /** Levels of a YAML file. */
  yamlDepthMax: 64,
  /** Policies and configuration files. */
  hclCharactersMax: 1024 * 1024,
  hclDepthMax: 100,
  headerBytesMax: 32 * 1024,
  /** The id that each request gets, when another cluster hands it on. */
  requestIdBytesMax: 256,
  /** A TLS handshake on an API listener, from the connection to its end. */
  handshakeMs: 10_000,
  headerReadMs: 10_000,
  bodyReadMs: 30_000,
  requestMs: 90_000,
  idleMs: 300_000,
  connectionsMax: 4096,
  /** Requests that wait while a role changes, and their bodies together. */
  waitingRequestsMax: 1024,
  waitingBytesMax: 64 * 1024 * 1024,
  /** Shutdown: how long requests in flight may take. */
  drainMs: 10_000,
  /** Pages that a server tells each second how it is. */
  ownFeedReadersMax: 32,
  /** A replication message on the cluster port, in both directions. */
  rpcMessageBytesMax: 64 * 1024 * 1024,
  /** Values one transaction may hold: what fits a replication message with room to spare. */
  transactionBytesMax: 48 * 1024 * 1024,
  /** The log may grow to this, or to its retention when that is larger, while a resync reads from a snapshot. */
  walPinnedEntriesMax: 1_048_576,
  walPinnedBytesMax: 4 * 1024 * 1024 * 1024,
  /** Retention of the log cannot be set lower. */
  walRetentionEntriesMin: 16,
  /** Transactions that join one commit, beyond its first. */
  commitBytesMax: 8 * 1024 * 1024,
  /** Lists of what failovers have cost: how many are kept, the oldest goes first. */
  lossesMax: 16,
  /** Entries that one of them names; how many there are beyond is told in it. */
  lossEntriesMax: 50_000,
  /** Log frames that are kept aside with one of them. */
  lossFrameBytesMax: 32 * 1024 * 1024,
  /** Data of this size is checked as a whole before it is served after a crash; more of it is checked meanwhile. */
  startCheckBytesMax: 64 * 1024 * 1024,
  /** A node leads for so long at least; etcd knows no shorter lease. */
  leaderLeaseMsMin: 2000,
  /** Key shares of a seal. */
  sharesMax: 255,
  shareBytesMin: 16,
  shareBytesMax: 33,
  otpLength: 28,
  /** Length of one PGP key, in whatever spelling. */
  pgpKeyCharactersMax: 32 * 1024,
  hmacInputBytesMax: 4096,
  roleNameBytesMax: 4095,
  /** Items of one batch of a transit request. */
  transitBatchItemsMax: 10_000,
  /** Purposes that one key is derived for; the library derives for no more. */
  transitContextBytesMax: 1024,
  transitRandomBytesMax: 128 * 1024,
  /** Versions of a transit key that are not trimmed: they are one record. */
  transitKeyVersionsMax: 1000,
  /** Each step more doubles the time that a password takes; 14 is about a second. */
  bcryptCostMax: 14,
  /** Passwords that wait for the one that is worked on. */
  passwordsWaitingMax: 64,
  /** Of those, passwords of clients at one address. */
  passwordsPerSourceMax: 16,
  /** The name that an auth method gives somebody, and the name of an entity. */
  aliasNameBytesMax: 4096,
  secondariesMax: 1024,
  /** Certificates of nodes that were removed from a cluster; with more of them no further node can join. */
  revokedNodesMax: 4096,
  /** Connections on the cluster port that have not shown who they are; beyond it the oldest is cut. */
  clusterHandshakesMax: 128,
  /** Secondaries that may compare themselves with a primary at one time; each holds a snapshot. */
  syncSessionsMax: 16,
  /** Checks of identities that simulated transports remember. */
  simulatedIdentitiesMax: 256,
  secondaryIdBytesMax: 256,
  filterPathsMax: 10_000,
  /** Filters, of secondaries that are registered and of ids that nobody has. */
  filtersMax: 2048,
  /** Mounts that one filter remembers as unmounted, or as moved, while it held them back. */
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
  /** Of these last events of a kind the quantiles of a metric tell. */
  metricSamplesMax: 1000,
  /** Access rules kept ready per (policies, namespace, entity). */
  aclCacheEntriesMax: 4096,
  /** The data of one audit entry as it is printed; larger data is replaced by a hash of the whole. */
  auditDataBytesMax: 128 * 1024,
  /** Stored JSON that is longer is hashed as a whole in audit entries without being looked into. */
  auditParsedCharactersMax: 1024 * 1024,
  /** A warning or an error in an audit entry; the rest of it is cut off. */
  auditTextCharactersMax: 4096,
  /** An audit device that has not taken a line by then has failed. */
  auditWriteMs: 5000,
  /** Lines that wait for a slow audit file. */
  auditWaitingBytesMax: 16 * 1024 * 1024,
  /** The newest lines of audit devices that are kept to be looked at, and how much of each. */
  auditTailLines: 200,
  auditTailCharactersMax: 16 * 1024,
  /** Free on the disk of an audit file for requests to be taken: room for the entries of what they answer. */
  auditHeadroomBytes: 1024 * 1024,
  /** Decrypted values kept ready, by number, and the stored size of each. */
  openedValuesMax: 2048,
  openedValueBytesMax: 2048,
  /** Hashes of RoleIDs and accessors that a mount keeps ready, by number, and the length of what they are of. */
  saltedTextsMax: 1024,
  saltedTextCharactersMax: 64,
  /** Stored values kept ready, by number, and the size of each with its key. */
  recentValuesMax: 4096,
  recentValueBytesMax: 2048,
  /** Keys of which it is kept ready that there is no value. */
  recentAbsencesMax: 1024,
} as const

/** 768 hours: the default and maximal lease time of a mount unless configured, in seconds. */
export const DEFAULT_LEASE_TTL_SECONDS = 2_764_800
