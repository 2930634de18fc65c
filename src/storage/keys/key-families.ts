/**
 * Whether replication sends the keys of a family. This file is the only definition of all key families in the database.
 * A family is one key, or all keys below a prefix that ends with `/`. Families do not overlap.
 *
 * - `replicated`: sent to performance and disaster-recovery secondaries
 * - `local`: sent to disaster-recovery secondaries only; each performance cluster has its own
 * - `ignored`: never leaves this cluster
 */
export type Category = 'replicated' | 'local' | 'ignored'

/** The Merkle trees: one for replicated keys and one for local keys. Ignored keys are in no tree. */
export type Tree = Exclude<Category, 'ignored'>

/**
 * Whether the barrier encrypts the values. A plain value is needed while the barrier is sealed, or contains no
 * information beyond its key. No plain value is an unencrypted secret: root keys and keyring are encrypted with other
 * keys.
 */
type Form = 'encrypted' | 'plain'

/** The component that defines and writes the keys of a family. Its listener is notified of every committed change. */
export type Owner =
  | 'seal'
  | 'cluster'
  | 'namespaces'
  | 'mounts'
  | 'backends'
  | 'audit'
  | 'policies'
  | 'password-policies'
  | 'quotas'
  | 'identity'
  | 'tokens'
  | 'token-roles'
  | 'wrapping'
  | 'cleanup'
  | 'roles'
  | 'filters'
  | 'replication'

type Row = readonly [at: string, category: Category, form: Form, owner: Owner, what: string]

const TABLE = {
  sealConfig: ['core/seal-config', 'replicated', 'plain', 'seal', 'number of key shares and threshold'],
  shareWrappedRoot: [
    'core/share-wrapped-root',
    'replicated',
    'plain',
    'seal',
    'root key, wrapped by the key of the shares',
  ],
  keyring: ['core/keyring', 'replicated', 'plain', 'seal', 'the keyring, encrypted with the root key'],
  autoWrappedRoot: ['core/auto-wrapped-root', 'ignored', 'plain', 'seal', 'root key, wrapped by the auto-unseal seal'],
  sharesBackup: ['core/unseal-keys-backup', 'replicated', 'plain', 'seal', 'PGP-encrypted shares of the last rekey'],
  clusterIdentity: ['core/cluster/local/info', 'ignored', 'plain', 'cluster', 'id and name of this cluster'],
  peers: ['core/nodes/peers/', 'ignored', 'encrypted', 'cluster', 'admitted nodes, one record each'],
  revokedNodes: ['core/nodes/revoked', 'ignored', 'plain', 'cluster', 'certificates of nodes that were removed'],
  autopilot: ['core/nodes/autopilot', 'ignored', 'encrypted', 'cluster', 'thresholds for unhealthy and dead nodes'],
  nodeAuthority: [
    'core/nodes/authority',
    'ignored',
    'encrypted',
    'cluster',
    'the CA with which the nodes authenticate to each other',
  ],
  webSettings: ['core/settings/web/', 'local', 'encrypted', 'cluster', 'CORS, and headers of the page'],
  keyRotation: [
    'core/settings/key-rotation',
    'replicated',
    'encrypted',
    'cluster',
    'when the key of the barrier rotates',
  ],
  autoSnapshots: [
    'core/nodes/auto-snapshots/',
    'ignored',
    'encrypted',
    'cluster',
    'automated snapshots, one record each',
  ],

  namespaces: ['core/namespaces/', 'replicated', 'encrypted', 'namespaces', 'one record each'],
  mounts: ['core/mounts/', 'replicated', 'encrypted', 'mounts', 'secret engine mounts, one record each'],
  authMounts: ['core/auth/', 'replicated', 'encrypted', 'mounts', 'auth method mounts, one record each'],
  localMounts: ['core/local-mounts/', 'local', 'encrypted', 'mounts', 'secret engine mounts that are local'],
  localAuthMounts: ['core/local-auth/', 'local', 'encrypted', 'mounts', 'auth method mounts that are local'],
  secretData: ['logical/', 'replicated', 'encrypted', 'backends', 'secret engine data, below the uuid of the mount'],
  authData: ['auth/', 'replicated', 'encrypted', 'backends', 'auth method data, below the uuid of the mount'],
  localSecretData: ['local/logical/', 'local', 'encrypted', 'backends', 'local data of secret engines'],
  localAuthData: ['local/auth/', 'local', 'encrypted', 'backends', 'local data of auth methods'],
  cleanupOrders: ['core/settings/purge/', 'replicated', 'encrypted', 'cleanup', 'data of removed mounts to be deleted'],
  localCleanupOrders: ['local/purge/', 'local', 'encrypted', 'cleanup', 'local data of removed mounts to be deleted'],

  audit: ['core/audit/', 'replicated', 'encrypted', 'audit', 'audit devices, one record each'],
  localAudit: ['core/local-audit/', 'local', 'encrypted', 'audit', 'audit devices that are local'],
  auditedHeaders: ['core/audited-headers', 'replicated', 'encrypted', 'audit', 'request headers that devices log'],
  policies: ['sys/policy/', 'replicated', 'encrypted', 'policies', 'ACL policies, below the id of the namespace'],
  passwordPolicies: [
    'sys/password-policy/',
    'replicated',
    'encrypted',
    'password-policies',
    'below the id of the namespace',
  ],
  quotas: ['sys/quotas/', 'replicated', 'encrypted', 'quotas', 'quotas by type and name, and their settings'],
  identity: ['sys/identity/', 'replicated', 'encrypted', 'identity', 'entities, groups and aliases'],
  tokens: ['sys/token/', 'local', 'encrypted', 'tokens', 'by id, by accessor, by parent'],
  leases: ['sys/expire/', 'local', 'plain', 'tokens', 'lease and expiration index of tokens and secrets (keys only)'],
  secretLeases: ['sys/leased/', 'local', 'encrypted', 'tokens', 'leases of secrets, below the id of the namespace'],
  cubbyholes: ['cubbyhole/', 'local', 'encrypted', 'tokens', 'the store of each token'],
  tokenRoles: ['sys/token-roles/', 'replicated', 'encrypted', 'token-roles', 'below the id of the namespace'],
  wrappingKey: ['core/wrapping/jwtkey', 'replicated', 'encrypted', 'wrapping', 'signs wrapping tokens in JWT form'],

  performanceRole: [
    'core/cluster/replicated/',
    'local',
    'encrypted',
    'roles',
    'performance role, its CA, registrations',
  ],
  drRole: ['core/cluster/replicated-dr/', 'ignored', 'encrypted', 'roles', 'DR role, its CA, registrations'],
  filters: ['core/filters/', 'replicated', 'encrypted', 'filters', 'path filters, one record per secondary id'],
  operationToken: ['core/dr-operation-token', 'ignored', 'encrypted', 'replication', 'hash of the operation token'],
  devRoot: ['core/dev-root', 'ignored', 'encrypted', 'replication', 'a root token received from a -dev primary'],
  losses: ['core/losses/', 'ignored', 'encrypted', 'replication', 'discarded log entries of this cluster'],
  announced: ['core/replication/announced/', 'ignored', 'plain', 'replication', 'last announced index'],
  alignment: ['core/replication/alignment', 'ignored', 'plain', 'replication', 'common position of the DR logs'],
  settledFilter: ['core/replication/settled-filter', 'ignored', 'plain', 'filters', 'filter of the last comparison'],
  purgeMark: ['core/replication/purge', 'ignored', 'plain', 'filters', 'destruction of filtered data requested'],
  treeMaintenance: ['core/replication/upkeep', 'ignored', 'plain', 'replication', 'rebuilds and checks of the trees'],
} as const satisfies Record<string, Row>

type Name = keyof typeof TABLE

/** The key or prefix of each family. */
export const KEYS = Object.fromEntries(Object.entries(TABLE).map(([name, [at]]) => [name, at])) as {
  readonly [N in Name]: (typeof TABLE)[N][0]
}

interface Family {
  readonly at: string
  readonly category: Category
  readonly isPlain: boolean
  readonly owner: Owner
  readonly isFolder: boolean
}

export const FAMILIES: readonly Family[] = Object.values(TABLE).map(([at, category, form, owner]) => ({
  at,
  category,
  isPlain: form === 'plain',
  owner,
  isFolder: at.endsWith('/'),
}))

/** Records that are equal on every cluster of a replication set. A new secondary needs them before its first sync. */
export const SHARED_SEAL_KEYS = [KEYS.sealConfig, KEYS.shareWrappedRoot, KEYS.keyring] as const

/** A node of the prefix tree of all families. Each read and write looks up the family of its key in this tree. */
interface Branch {
  readonly next: Branch[]
  family?: Family
}

const SLASH = 47
const TRUNK: Branch = { next: [] }
for (const family of FAMILIES) {
  let branch = TRUNK
  for (let at = 0; at < family.at.length; at++) branch = branch.next[family.at.charCodeAt(at)] ??= { next: [] }
  branch.family = family
}

/** Returns the family of a key; undefined for a damaged key that is in no family. */
export const findFamily = (key: string): Family | undefined => {
  let branch: Branch | undefined = TRUNK
  for (let at = 0; at < key.length && branch !== undefined; at++) {
    const letter = key.charCodeAt(at)
    branch = branch.next[letter]
    if (letter === SLASH && branch?.family !== undefined) break
  }
  return branch?.family
}

export const findCategory = (key: string): Category | undefined => findFamily(key)?.category

/** Returns the category of a key. Throws if no family contains the key, which is a bug. */
export const categoryOf = (key: string): Category => {
  const found = findCategory(key)
  if (found === undefined) throw new Error(`no category for the storage key ${JSON.stringify(key)}`)
  return found
}

const PLAIN_LETTERS = new Set(FAMILIES.filter(({ isPlain }) => isPlain).map(({ at }) => at.charCodeAt(0)))

export const isPlainKey = (key: string): boolean =>
  PLAIN_LETTERS.has(key.charCodeAt(0)) && findFamily(key)?.isPlain === true

/** Returns the mount of a key and the key within that mount, or undefined if the key is not data of a mount. */
export const findMountOf = (
  key: string,
): { readonly category: Category; readonly uuid: string; readonly rest: string } | undefined => {
  const family = findFamily(key)
  if (family?.owner !== 'backends') return undefined
  const end = key.indexOf('/', family.at.length)
  if (end < 0) return undefined
  return { category: family.category, uuid: key.slice(family.at.length, end), rest: key.slice(end + 1) }
}
