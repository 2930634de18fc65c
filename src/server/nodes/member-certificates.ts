import { readJson, type ReadStorage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The certificates of the etcd members beside the nodes. The authority of the nodes signs them as it signs those of callers, so
 * each carries a name by which the cluster port tells it from a caller.
 */
interface Revoked {
  /** Hex. A serial number stays on the list for as long as the cluster exists. */
  readonly serials: readonly string[]
  /** The same as a certificate revocation list: base64 of its DER. */
  readonly list: string
}

/** Certificates of removed nodes. The record is stored in plain: sealed nodes need it, too. Undefined before the first removal. */
export const readRevoked = (storage: ReadStorage): Revoked | undefined => readJson<Revoked>(storage, KEYS.revokedNodes)

const PREFIX = 'etcd-'

export const memberCommonName = (serial: string): string => PREFIX + serial

/** The serial number of a member's certificate; undefined for the common name of a caller. */
export const memberSerialOf = (commonName: string): string | undefined =>
  commonName.startsWith(PREFIX) ? commonName.slice(PREFIX.length) : undefined
