/** All limits. Each name contains the unit. The code that adds data checks its limit. */
export const LIMITS = {
  /** Size of a request body with a valid token. */
  bodyBytesMax: 32 * 1024 * 1024,
  /** Size of a request body that is read before the token is checked. */
  openBodyBytesMax: 64 * 1024,
  /** Size of a request body without a valid token, on paths that accept PGP keys. */
  keyBodyBytesMax: 1024 * 1024,
  /** Total size of unfinished request bodies without a valid token. Above this total, the oldest body is rejected. */
  openBodiesBytesMax: 16 * 1024 * 1024,
  /** Total size of larger bodies, from their first byte to their response. Above this total, further bodies wait. */
  largeBodiesBytesMax: 40 * 1024 * 1024,
  /** Number of larger bodies that may wait. */
  largeBodiesWaitingMax: 256,
  /**
   * Time in which a larger body must arrive while other bodies wait, plus one second per `largeBodyBytesPerSecondMin`
   * received bytes. A body that takes longer is rejected.
   */
  largeBodyGraceMs: 5000,
  largeBodyBytesPerSecondMin: 512 * 1024,
  /**
   * Total size of responses to reads of 64 KiB and more, from their creation until the clients have received them.
   * Above this total, further responses wait.
   */
  largeAnswersBytesMax: 40 * 1024 * 1024,
  largeAnswersWaitingMax: 256,
  /** While other responses wait, a client that has not received its response after this time is disconnected. */
  largeAnswerPatienceMs: 10_000,
  /**
   * Number of members and elements of a JSON body, or of parameters of a form. Each object and array counts as well.
   */
  jsonValuesMax: 100_000,
  /** Number of members and elements of a body without a valid token that is larger than `openBodyBytesMax`. */
  openJsonValuesMax: 4096,
  /** Length of one number in a JSON text. */
  jsonNumberCharactersMax: 1024,
  /** Length of the text of one field, except for fields that contain documents. */
  fieldCharactersMax: 1024 * 1024,
  /** Length of a number, a duration or a Boolean as text. */
  scalarCharactersMax: 128,
  /** Number of elements of a list field. */
  listElementsMax: 10_000,
  /** Size of a snapshot to restore. It is read only if the token permits a restore, and is then in memory. */
  snapshotBytesMax: 512 * 1024 * 1024,
  /** Size of the response to an outgoing request. A snapshot may be larger. */
  answerBytesMax: 64 * 1024 * 1024,
  /** Size of the response to an outgoing request whose response is small, such as a status or an activation bundle. */
  smallAnswerBytesMax: 1024 * 1024,
  jsonDepthMax: 300,
  /**
   * Size of a file that a user names: configuration, topology, drill, keys, certificate or policy. Values and snapshots
   * have larger limits.
   */
  namedFileBytesMax: 1024 * 1024,
  /** Nesting levels of a YAML file. */
  yamlDepthMax: 64,
  /** Length of a policy or a configuration file. */
  hclCharactersMax: 1024 * 1024,
  hclDepthMax: 100,
  headerBytesMax: 32 * 1024,
  /** Number of client certificate chains that a listener remembers for resumed TLS sessions. */
  clientChainsMax: 1000,
  /** Length of one client certificate in base64, in a request of another node. */
  clientCertificateCharactersMax: 128 * 1024,
  /** Length of a request ID from another cluster. */
  requestIdBytesMax: 256,
  /** Time for the PROXY protocol header and the TLS handshake of a connection to an API listener. */
  handshakeMs: 10_000,
  headerReadMs: 10_000,
  bodyReadMs: 30_000,
  requestMs: 90_000,
  idleMs: 300_000,
  connectionsMax: 4096,
  /** Number of requests that wait during a role change, and the total size of their bodies. */
  waitingRequestsMax: 1024,
  waitingBytesMax: 64 * 1024 * 1024,
  /** Time in which pending requests can complete at shutdown. */
  drainMs: 10_000,
  /** Number of web pages to which a server sends its status each second. */
  ownFeedReadersMax: 32,
  /** Size of the unread log lines of one client of sys/monitor. Beyond it, lines are dropped. */
  monitorBacklogBytesMax: 1024 * 1024,
  /** Size of a replication message on the cluster port, in both directions. */
  rpcMessageBytesMax: 64 * 1024 * 1024,
  /** Total size of the values of one transaction, which must fit into a replication message. */
  transactionBytesMax: 48 * 1024 * 1024,
  /** Size of the log while a resync reads a snapshot, unless the configured retention is larger. */
  walPinnedEntriesMax: 1_048_576,
  walPinnedBytesMax: 4 * 1024 * 1024 * 1024,
  /** Lowest allowed retention of the log. */
  walRetentionEntriesMin: 16,
  /** Total size of the transactions in one commit. A larger transaction is committed alone. */
  commitBytesMax: 8 * 1024 * 1024,
  /** Number of loss records. The oldest record is removed first. */
  lossesMax: 16,
  /** Number of entries in one loss record. The record states how many further entries were lost. */
  lossEntriesMax: 50_000,
  /** Total size of the log frames that are stored with one loss record. */
  lossFrameBytesMax: 32 * 1024 * 1024,
  /**
   * After a crash, data up to this size is verified before the server starts. Larger data is verified in the
   * background.
   */
  startCheckBytesMax: 64 * 1024 * 1024,
  /** Shortest lease of a leader. etcd does not support shorter leases. */
  leaderLeaseMsMin: 2000,
  /** Number of key shares of a seal. */
  sharesMax: 255,
  shareBytesMin: 16,
  shareBytesMax: 33,
  otpLength: 28,
  /** Length of one PGP key, in any encoding. */
  pgpKeyCharactersMax: 32 * 1024,
  hmacInputBytesMax: 4096,
  roleNameBytesMax: 4095,
  /** Number of items in a batch request to transit. */
  transitBatchItemsMax: 10_000,
  /** Length of the context of a derived key. The cryptographic library has the same limit. */
  transitContextBytesMax: 1024,
  transitRandomBytesMax: 128 * 1024,
  /** Size of a key, length of its names, and width of its picture, whose creation blocks the event loop. */
  totpKeyBytesMax: 1024,
  totpNameLengthMax: 512,
  totpPicturePixelsMax: 1024,
  /** Length of a template of user names of databases. */
  usernameTemplateLengthMax: 1024,
  /** Number of versions of a transit key that are not trimmed. All versions are in one record. */
  transitKeyVersionsMax: 1000,
  /** Cost of a password hash. Each step doubles the time to hash a password. A cost of 14 takes about a second. */
  bcryptCostMax: 14,
  /** Number of passwords that wait to be hashed. */
  passwordsWaitingMax: 128,
  /** Number of waiting passwords of one client address. */
  passwordsPerSourceMax: 32,
  /** Length of the name of an alias, an entity or a group. */
  aliasNameBytesMax: 4096,
  secondariesMax: 1024,
  /** Number of certificates of removed nodes. At this number, no further node can join the cluster. */
  revokedNodesMax: 4096,
  /** Number of unauthenticated connections on the cluster port. Above this number, the oldest connection is closed. */
  clusterHandshakesMax: 128,
  /** Number of secondaries that can resync at the same time. Each resync requires a snapshot. */
  syncSessionsMax: 16,
  /** Number of verified identities that simulated transports cache. */
  simulatedIdentitiesMax: 256,
  secondaryIdBytesMax: 256,
  filterPathsMax: 10_000,
  /** Number of paths filters, for registered secondaries and for unknown IDs. */
  filtersMax: 2048,
  /** Number of mounts that one filter remembers because they were unmounted or moved while they were filtered. */
  filterMountsKeptMax: 10_000,
  activationTtlSecondsMax: 768 * 3600,
  /** Number of quotas of one type. */
  quotasMax: 10_000,
  /** Number of clients whose requests a quota counts. Beyond it, the quota forgets clients that were inactive. */
  quotaClientsMax: 10_000,
  /** Length of a generated password. */
  passwordCharactersMin: 4,
  passwordCharactersMax: 100,
  /** Number of random passwords that the server compares with a password policy until one matches. */
  passwordCandidatesMax: 10_000,
  /** Time to connect to a database, and time of one of its statements. */
  databaseConnectMs: 10_000,
  databaseStatementMs: 30_000,
  /** Length of the path of one policy rule. */
  rulePathCharactersMax: 8192,
  /** Metadata of an entity, a group or an alias: the number of keys, and the size of each key and value. */
  identityTextsMax: 64,
  identityTextNameBytesMax: 128,
  identityTextBytesMax: 512,
  /** Number of direct members of one group: entities and groups together. */
  groupMembersMax: 10_000,
  /** Number of groups that contain the same entity or group directly. Requests evaluate all groups of an entity. */
  groupsOfMemberMax: 1000,
  /** Number of series of counted events. Each name and set of labels is one series. */
  metricSeriesMax: 10_000,
  /** Number of most recent events from which the quantiles of a metric are computed. */
  metricSamplesMax: 1000,
  /** Number of cached access rules: one entry per list of policies, namespace and entity. */
  aclCacheEntriesMax: 4096,
  /** Size of the printed data of one audit entry. One hash replaces larger data. */
  auditDataBytesMax: 128 * 1024,
  /** Length of stored JSON that is parsed for audit entries. Longer JSON is hashed as a whole. */
  auditParsedCharactersMax: 1024 * 1024,
  /** Length of a warning or an error in an audit entry. Longer texts are truncated. */
  auditTextCharactersMax: 4096,
  /** Timeout of one write to an audit device. */
  auditWriteMs: 5000,
  /** Total size of the lines that wait for a slow audit file. */
  auditWaitingBytesMax: 16 * 1024 * 1024,
  /** Size of the unread lines on standard output. More audit lines are rejected. */
  standardOutputBytesMax: 1024 * 1024,
  /** Number of the newest lines of audit devices that stay in memory, and the length of each line. */
  auditTailLines: 200,
  auditTailCharactersMax: 16 * 1024,
  /**
   * Minimum free space on the disk of an audit file. With less space, requests are rejected, so that the entries of
   * responses still fit.
   */
  auditHeadroomBytes: 1024 * 1024,
  /** Number of cached decrypted values, and the stored size of each. */
  decryptedValuesMax: 2048,
  decryptedValueBytesMax: 2048,
  /** Number of cached hashes of RoleIDs and accessors per mount, and the length of each input. */
  saltedTextsMax: 1024,
  saltedTextCharactersMax: 64,
  /** Number of cached stored values, and the size of each value with its key. */
  recentValuesMax: 4096,
  recentValueBytesMax: 2048,
  /** Number of cached keys without a value. */
  recentAbsencesMax: 1024,
} as const

/** The default of both the default and the maximum lease TTL of a mount, in seconds: 768 hours. */
export const DEFAULT_LEASE_TTL_SECONDS = 2_764_800
