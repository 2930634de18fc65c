import { sha256 } from '../../crypto/digest.js'

/**
 * Computes a hash over the filtered hashes of a cluster, which represent the data withheld from it. Merkle roots are
 * equal whether a cluster stores a key or only its filtered hash. This digest differs in these cases.
 */
export const filteredDigest = (filtered: ReadonlyMap<number, Buffer>): Buffer => {
  const rows = [...filtered].sort(([a], [b]) => a - b)
  return sha256(rows.map(([subPage, hash]) => `${subPage}:${hash.toString('hex')}`).join('\n'))
}
