/**
 * Every key prefix of the database, what lives there, and where it is replicated to. No other place decides it.
 *
 * - `replicated`: shipped to performance and disaster-recovery secondaries
 * - `local`: shipped to disaster-recovery secondaries only; each performance cluster has its own
 * - `ignored`: never leaves this cluster
 */
export type Category = 'replicated' | 'local' | 'ignored'

/** The merkle trees: one over replicated keys, one over local keys. Ignored keys are in none. */
export type Tree = 'replicated' | 'local'

interface Prefix {
  readonly prefix: string
  readonly category: Category
  readonly what: string
}

export const PREFIXES: readonly Prefix[] = [
  { prefix: 'core/seal-config', category: 'replicated', what: 'number of key shares and threshold' },
  {
    prefix: 'core/share-wrapped-root',
    category: 'replicated',
    what: 'the root key, wrapped by the key the shares make',
  },
  { prefix: 'core/unseal-keys-backup', category: 'replicated', what: 'PGP-encrypted key shares of the last rekey' },
  { prefix: 'core/keyring', category: 'replicated', what: 'the barrier keyring, encrypted with the root key' },
  { prefix: 'core/mounts/', category: 'replicated', what: 'secret engine mounts, one record each' },
  { prefix: 'core/auth/', category: 'replicated', what: 'auth method mounts, one record each' },
  { prefix: 'core/audit/', category: 'replicated', what: 'audit devices, one record each' },
  { prefix: 'core/audited-headers', category: 'replicated', what: 'request headers that audit devices log' },
  { prefix: 'core/namespaces/', category: 'replicated', what: 'namespaces, one record each' },
  { prefix: 'core/wrapping/jwtkey', category: 'replicated', what: 'the key that signs wrapping tokens in JWT form' },
  { prefix: 'core/filters/', category: 'replicated', what: 'path filters, one record per secondary id' },
  { prefix: 'core/settings/', category: 'replicated', what: 'cluster-wide settings made through the API' },
  { prefix: 'logical/', category: 'replicated', what: 'data of secret engines, below the uuid of the mount' },
  { prefix: 'auth/', category: 'replicated', what: 'data of auth methods, below the uuid of the mount' },
  { prefix: 'sys/policy/', category: 'replicated', what: 'ACL policies, below the id of the namespace' },
  { prefix: 'sys/token-roles/', category: 'replicated', what: 'token roles, below the id of the namespace' },
  { prefix: 'sys/identity/', category: 'replicated', what: 'entities and aliases' },

  { prefix: 'core/local-mounts/', category: 'local', what: 'secret engine mounts that are local' },
  { prefix: 'core/local-auth/', category: 'local', what: 'auth method mounts that are local' },
  { prefix: 'core/local-audit/', category: 'local', what: 'audit devices that are local' },
  {
    prefix: 'core/cluster/replicated/',
    category: 'local',
    what: 'performance role, its CA, registrations, credentials',
  },
  { prefix: 'local/', category: 'local', what: 'data of local mounts and local prefixes of mounts' },
  { prefix: 'sys/token/', category: 'local', what: 'tokens: by id, by accessor, by parent' },
  { prefix: 'sys/expire/', category: 'local', what: 'leases' },
  { prefix: 'sys/lockout/', category: 'local', what: 'failed logins that count towards a lockout' },
  { prefix: 'sys/counters/', category: 'local', what: 'counters' },
  { prefix: 'cubbyhole/', category: 'local', what: 'the store of each token' },

  { prefix: 'core/cluster/replicated-dr/', category: 'ignored', what: 'disaster-recovery role, its CA, registrations' },
  { prefix: 'core/cluster/local/', category: 'ignored', what: 'id and name of this cluster' },
  {
    prefix: 'core/auto-wrapped-root',
    category: 'ignored',
    what: "the root key, wrapped by this cluster's auto-unseal",
  },
  { prefix: 'core/dr-operation-token', category: 'ignored', what: 'hash of the operation token' },
  { prefix: 'core/dev-root', category: 'ignored', what: 'a root token on its way between -dev servers' },
  { prefix: 'core/losses/', category: 'ignored', what: 'what was discarded when this cluster rejoined' },
  { prefix: 'core/replication/', category: 'ignored', what: 'positions, epochs, progress' },
]

const BY_PREFIX = new Map(PREFIXES.map((row) => [row.prefix, row.category]))

const FOLDERS = PREFIXES.map((row) => row.prefix).filter(
  (prefix) => prefix.endsWith('/') && PREFIXES.every((row) => row.prefix === prefix || !row.prefix.startsWith(prefix)),
)

/** The prefix of a key below which every key has the same category; undefined when only the key itself is known to. */
export const folderOf = (key: string): string | undefined => FOLDERS.find((prefix) => key.startsWith(prefix))

/** The category of a storage key. A key that no row covers is a bug. */
export const categoryOf = (key: string): Category => {
  const found = findCategory(key)
  if (found === undefined) throw new Error(`no category for the storage key ${JSON.stringify(key)}`)
  return found
}

/** The same of a key that may be damaged; undefined when no row covers it. */
export const findCategory = (key: string): Category | undefined => {
  // Rows end after the first, second or third segment, or are whole keys.
  const first = key.indexOf('/')
  const second = key.indexOf('/', first + 1)
  const third = second < 0 ? -1 : key.indexOf('/', second + 1)
  return (
    (third < 0 ? undefined : BY_PREFIX.get(key.slice(0, third + 1))) ??
    (second < 0 ? undefined : BY_PREFIX.get(key.slice(0, second + 1))) ??
    BY_PREFIX.get(key.slice(0, first + 1)) ??
    BY_PREFIX.get(key)
  )
}
