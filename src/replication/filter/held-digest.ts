import { sha256 } from '../../crypto/digest.js'

/**
 * One hash over what is held back from a cluster. Merkle roots are equal whether a key is stored or only its hash is; two
 * clusters that store the same keys have this equal as well.
 */
export const heldDigest = (held: ReadonlyMap<number, Buffer>): Buffer => {
  const rows = [...held].sort(([a], [b]) => a - b)
  return sha256(rows.map(([subPage, hash]) => `${subPage}:${hash.toString('hex')}`).join('\n'))
}
