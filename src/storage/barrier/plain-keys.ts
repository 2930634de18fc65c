/**
 * Keys whose stored value is not encrypted by the barrier, since they are needed while it is sealed. Nothing else is
 * ever stored in plain, and none of these holds a secret as it is: the wrapped root keys and the keyring are ciphertext
 * of another key. A row that ends with `/` covers all keys below it.
 */
export const PLAIN_KEYS = [
  'core/seal-config',
  'core/share-wrapped-root',
  'core/keyring',
  'core/auto-wrapped-root',
  'core/unseal-keys-backup',
  'core/cluster/local/',
  'core/replication/',
] as const

const WHOLE: ReadonlySet<string> = new Set(PLAIN_KEYS.filter((row) => !row.endsWith('/')))
const BELOW = PLAIN_KEYS.filter((row) => row.endsWith('/'))

export const isPlainKey = (key: string): boolean =>
  key.startsWith('core/') && (WHOLE.has(key) || BELOW.some((prefix) => key.startsWith(prefix)))

/** The plain keys that every cluster of a replication set has byte for byte, and a new one needs before its first sync. */
export const SHARED_PLAIN_KEYS = ['core/seal-config', 'core/share-wrapped-root', 'core/keyring'] as const
export const KEYRING_KEY = 'core/keyring'
