import { sha256 } from '../../crypto/digest.js'

/**
 * One hash over what is kept from a cluster. Merkle roots are equal whether a key is stored or only its hash is; two
 * clusters that store the same keys have this equal as well.
 */
export const filteredDigest = (filtered: ReadonlyMap<number, Buffer>): Buffer => {
  const rows = [...filtered].sort(([a], [b]) => a - b)
  return sha256(rows.map(([subPage, hash]) => `${subPage}:${hash.toString('hex')}`).join('\n'))
}
