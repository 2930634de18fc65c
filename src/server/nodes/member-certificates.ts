import { readJson, type ReadStorage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The certificates of the nodes' etcd members. The nodes' CA signs them as well as those of callers, so each has a common
 * name by which the cluster port distinguishes the two.
 */
interface Revoked {
  /** Hex. A serial number stays on the list for the lifetime of the cluster. */
  readonly serials: readonly string[]
  /** The certificate revocation list, as base64 of its DER. */
  readonly list: string
}

/**
 * Reads the certificates of removed nodes. The record is stored in plaintext, since sealed nodes need it too. Undefined
 * before the first removal.
 */
export const readRevoked = (storage: ReadStorage): Revoked | undefined => readJson<Revoked>(storage, KEYS.revokedNodes)

const PREFIX = 'etcd-'

export const memberCommonName = (serial: string): string => PREFIX + serial

/** Returns the serial number of a member's certificate; undefined for the common name of a caller. */
export const memberSerialOf = (commonName: string): string | undefined =>
  commonName.startsWith(PREFIX) ? commonName.slice(PREFIX.length) : undefined
