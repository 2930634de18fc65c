import type { TokenEntry } from './token-record.js'

/** Upper limits of TTL buckets in seconds, with Vault's labels. */
const TTL_BUCKETS = [
  [60, '1m'],
  [600, '10m'],
  [1200, '20m'],
  [3600, '1h'],
  [7200, '2h'],
  [86_400, '1d'],
  [172_800, '2d'],
  [604_800, '7d'],
  [2_592_000, '30d'],
] as const

/** Returns the label of a TTL. A token without expiry is in the last bucket. */
const ttlBucket = (ttlSeconds: number): string =>
  (ttlSeconds > 0 && TTL_BUCKETS.find(([end]) => ttlSeconds <= end)?.[1]) || '+Inf'

/** Returns the name and labels of the counter for token creation. */
export const tokenCreation = (
  token: Pick<TokenEntry, 'namespace' | 'ttlSeconds' | 'type'>,
  mount: { readonly type: string; readonly path: string } | undefined,
): [name: string, labels: Readonly<Record<string, string>>] => [
  'vault.token.creation',
  {
    namespace: token.namespace.path === '' ? 'root' : token.namespace.path,
    auth_method: mount?.type ?? '',
    mount_point: mount?.path ?? '',
    creation_ttl: ttlBucket(token.ttlSeconds),
    token_type: token.type,
  },
]
