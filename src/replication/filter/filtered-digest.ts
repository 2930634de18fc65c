import { sha256 } from '../../crypto/digest.js'

/**
 * Computes one hash over the data withheld from a cluster. A Merkle root does not show whether a cluster stores a key
 * or only its hash. This digest is equal only for clusters that store the same keys.
 */
export const filteredDigest = (filtered: ReadonlyMap<number, Buffer>): Buffer => {
  const rows = [...filtered].sort(([a], [b]) => a - b)
  return sha256(rows.map(([subPage, hash]) => `${subPage}:${hash.toString('hex')}`).join('\n'))
}
