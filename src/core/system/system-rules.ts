import { NO_RULES, type PathRules, PathRuleTable } from '../../logical/path-rules.js'

interface SystemRuleSettings {
  readonly unauthenticatedMetrics: boolean
  readonly own: { readonly allowGenerateRootUnauthenticated: boolean }
}

type Served = NonNullable<PathRules['servedWhile']>

const WHILE_DR = { 'dr-bootstrapping': 'all', dr: 'all' } satisfies Served
const WHILE_JOINING = { bootstrapping: 'all', stranded: 'all', ...WHILE_DR } satisfies Served
const WHILE_CHANGING = { restarting: 'all', ...WHILE_JOINING } satisfies Served
/**
 * The states in which key shares are accepted. A cluster that waits for its first full sync accepts key shares although
 * it is already unsealed: the response says so. After the sync, shares have no effect.
 */
const FOR_SHARES = {
  sealed: 'all',
  standby: 'all',
  restarting: 'all',
  bootstrapping: 'all',
  stranded: 'all',
  'dr-bootstrapping': 'all',
  'writes-paused': 'all',
} satisfies Served
/**
 * For requests that change the role or stop the server: a role change does not delay them, and a fence does not reject
 * them.
 */
const STEERING = { fenced: 'all', 'writes-paused': 'all' } satisfies Served

const OPEN = { access: 'open' } satisfies PathRules
const SUDO = { access: 'sudo' } satisfies PathRules
const ROOT = { isRootOnly: true } satisfies PathRules
const BARE = { ...ROOT, body: 'bare' } satisfies PathRules
const WRITTEN = { ...BARE, verbs: ['PUT', 'POST'] } satisfies PathRules
const STATUS = {
  ...OPEN,
  servedWhile: { sealed: 'all', standby: 'all', ...WHILE_CHANGING },
  isUnaudited: true,
  verbs: ['GET'],
} satisfies PathRules
const STATUS_OF_REMOVED = { ...STATUS, servedWhile: { ...STATUS.servedWhile, removed: 'all' } } satisfies PathRules
const SNAPSHOT = { ...ROOT, ...SUDO, body: 'file' } satisfies PathRules
/** A cluster that waits for its first full sync admits no servers, but sends challenges to joining servers. */
const BOOTSTRAP = {
  ...ROOT,
  ...OPEN,
  servedWhile: { bootstrapping: 'all', ...WHILE_DR, 'writes-paused': 'all' },
} satisfies PathRules
const ROLE = { ...ROOT, servedWhile: STEERING } satisfies PathRules
/** For commands that abandon a first full sync that does not complete. */
const LEAVING = { ...ROOT, servedWhile: { stranded: 'all', ...STEERING } } satisfies PathRules
const ROLE_ON_DR = { ...ROOT, servedWhile: { ...WHILE_DR, ...STEERING } } satisfies PathRules
/** For paths that validate the operation token themselves. */
const WITH_OPERATION_TOKEN = { ...ROLE_ON_DR, ...OPEN } satisfies PathRules
const TURNS = { takesTurns: true } satisfies PathRules

/** Returns the rules of the paths below `sys/`. Unsupported paths have the rules of Vault. */
export const systemRules = ({ unauthenticatedMetrics, own }: SystemRuleSettings): PathRuleTable => {
  const shares = own.allowGenerateRootUnauthenticated ? OPEN : SUDO
  /**
   * Available while stranded, so that an operator can generate a root token and abandon an incomplete first full sync.
   */
  const rootCeremony: PathRules = { ...BARE, ...shares, servedWhile: { sealed: 'all', stranded: 'all' } }
  const drCeremony: PathRules = { ...ROLE_ON_DR, ...shares, body: 'bare' }
  return new PathRuleTable({
    health: { ...STATUS_OF_REMOVED, verbs: ['GET', 'HEAD'] },
    'seal-status': STATUS_OF_REMOVED,
    'seal-backend-status': { ...STATUS, ...ROOT, servedWhile: { sealed: 'all', standby: 'all', ...WHILE_JOINING } },
    leader: STATUS,
    init: {
      ...BARE,
      ...OPEN,
      servedWhile: { ...FOR_SHARES, dr: 'reads' },
      isUnaudited: true,
      verbs: ['GET', 'PUT', 'POST'],
    },
    unseal: { ...WRITTEN, ...OPEN, servedWhile: FOR_SHARES, awaitsNodes: true, isUnaudited: true },
    seal: { ...WRITTEN, ...SUDO, servedWhile: { sealed: 'all', bootstrapping: 'all', stranded: 'all', ...STEERING } },
    'step-down': { ...WRITTEN, ...SUDO, servedWhile: STEERING },
    'generate-root/attempt': rootCeremony,
    'generate-root/update': rootCeremony,
    'generate-root/*': BARE,
    'generate-root-token/attempt': rootCeremony,
    'generate-root-token/update': rootCeremony,
    'generate-root-token/*': BARE,
    'decode-token': { ...ROOT, ...OPEN },
    'rekey/*': { ...BARE, ...OPEN },
    'rekey-recovery-key/*': { ...BARE, ...OPEN },
    rotate: { ...ROOT, ...SUDO },
    'rotate/config': ROOT,
    'sealwrap/rewrap': ROOT,

    // A fenced primary still admits a secondary to which an operator has given an activation token.
    'wrapping/lookup': { ...OPEN, wrappingToken: 'any', servedWhile: { fenced: 'all' } },
    'wrapping/unwrap': { wrappingToken: 'any', servedWhile: { fenced: 'all' } },
    'wrapping/rewrap': { wrappingToken: 'named' },
    'wrapping/pubkey': OPEN,
    'internal/ui/mounts': OPEN,
    'internal/ui/mounts/*': OPEN,
    'internal/ui/namespaces': OPEN,
    'internal/ui/feature-flags': OPEN,
    'internal/specs/openapi': OPEN,
    'internal/inspect/*': SUDO,

    'auth/*': SUDO,
    remount: SUDO,
    raw: SUDO,
    'raw/*': SUDO,
    'config/cors': { ...ROOT, ...SUDO },
    'config/ui/headers/*': { ...ROOT, ...SUDO },
    'plugins/catalog/*': SUDO,
    'revoke-prefix/*': SUDO,
    'revoke-force/*': SUDO,
    leases: SUDO,
    'leases/lookup/*': SUDO,
    'leases/revoke-prefix/*': SUDO,
    'leases/revoke-force/*': SUDO,

    audit: { ...ROOT, ...SUDO },
    'audit/*': { ...ROOT, ...SUDO },
    'audit-hash/*': ROOT,
    'config/auditing/*': { ...ROOT, ...SUDO },
    'config/state/*': ROOT,
    'config/group-policy-application': ROOT,
    loggers: ROOT,
    'loggers/*': ROOT,
    // A standby cannot forward a stream, so it redirects the client to the active node.
    monitor: { ...ROOT, ...SUDO, body: 'file' },
    pprof: { ...ROOT, ...SUDO },
    'pprof/*': { ...ROOT, ...SUDO },
    'license/*': ROOT,
    'host-info': ROOT,
    'in-flight-req': ROOT,
    'quotas/*': ROOT,
    metrics: unauthenticatedMetrics ? { ...ROOT, ...OPEN, servedWhile: WHILE_DR } : ROOT,
    // Clients call this path before the node has a cluster.
    'storage/raft/join': { ...ROOT, ...OPEN, servedWhile: { sealed: 'all', standby: 'all', 'writes-paused': 'all' } },
    // A joining server authenticates with the shares or the seal.
    'storage/raft/bootstrap/challenge': BOOTSTRAP,
    'storage/raft/bootstrap/answer': BOOTSTRAP,
    // On a DR secondary these paths require an operation token, which they validate themselves.
    'storage/raft/configuration': { ...ROOT, servedWhile: WHILE_DR },
    'storage/raft/autopilot/state': { ...ROOT, servedWhile: WHILE_DR },
    'storage/raft/autopilot/configuration': { ...ROOT, servedWhile: WHILE_DR },
    'storage/raft/remove-peer': { ...ROOT, servedWhile: WHILE_DR },
    'storage/raft/snapshot-auto/config/*': { ...ROOT, ...SUDO },
    'storage/raft/snapshot': SNAPSHOT,
    'storage/raft/snapshot-force': SNAPSHOT,
    'storage/*': ROOT,

    ...roleRules('replication'),
    ...roleRules('replication/dr'),
    ...roleRules('replication/performance'),
    'replication/recover': { ...LEAVING, ...TURNS },
    'replication/merkle-check': ROLE,
    'replication/*': { servedWhile: STEERING },
    'replication/secondary/disable': { ...LEAVING, ...TURNS },
    'replication/secondary/update-primary': { ...LEAVING, ...TURNS },
    'replication/performance/secondary/disable': { ...LEAVING, ...TURNS },
    'replication/performance/secondary/update-primary': { ...LEAVING, ...TURNS },
    'replication/dr/secondary/promote': { ...WITH_OPERATION_TOKEN, ...TURNS },
    'replication/dr/secondary/disable': { ...WITH_OPERATION_TOKEN, ...TURNS },
    'replication/dr/secondary/recover': { ...WITH_OPERATION_TOKEN, ...TURNS },
    'replication/dr/secondary/update-primary': { ...WITH_OPERATION_TOKEN, ...TURNS },
    'replication/dr/secondary/reindex': WITH_OPERATION_TOKEN,
    'replication/dr/secondary/merkle-check': WITH_OPERATION_TOKEN,
    'replication/dr/secondary/operation-token/delete': WITH_OPERATION_TOKEN,
    'replication/dr/secondary/config/reload/*': WITH_OPERATION_TOKEN,
    'replication/dr/secondary/license/status': WITH_OPERATION_TOKEN,
    // This path accepts an operation token or a client token, and validates both itself.
    'replication/dr/secondary/generate-public-key': ROLE_ON_DR,
    'replication/dr/secondary/generate-operation-token/attempt': drCeremony,
    'replication/dr/secondary/generate-operation-token/update': drCeremony,
    'replication/dr/secondary/generate-operation-token/*': { ...ROLE, body: 'bare' },
  })
}

/** Returns the rules of a request path in the root namespace. */
export const systemRulesOf = (table: PathRuleTable, path: string): PathRules =>
  path.startsWith('sys/') ? table.find(path.slice('sys/'.length)) : NO_RULES

/** Returns the rules that apply to both kinds of replication, and to the older paths without a kind. */
const roleRules = (prefix: string): Record<string, PathRules> => ({
  [`${prefix}/status`]: {
    ...OPEN,
    servedWhile: { ...WHILE_CHANGING, ...STEERING },
    isUnaudited: true,
    withheldAs: 'replication-status',
  },
  [`${prefix}/reindex`]: { ...ROLE, ...SUDO },
  [`${prefix}/primary/secondary-token`]: { ...ROLE, ...SUDO, ...TURNS },
  [`${prefix}/primary/*`]: { ...ROLE, ...TURNS },
  [`${prefix}/secondary/*`]: { ...ROLE, ...TURNS },
})
