import { hmacSha256, hmacSha256Hex } from '../../crypto/hmac.js'
import { accessorFrom, namespaceIdOf } from './token-format.js'

/**
 * The names that a cluster's salt gives to a token: its accessor follows from its id, and its storage id from the accessor,
 * so that either leads to the one record and neither leads back. Keys of their own keep the two steps apart: nothing that is
 * presented as an id comes out as the storage id that belongs to an accessor.
 */
export class TokenNames {
  readonly salt: Buffer
  readonly #accessors: Buffer
  readonly #storageIds: Buffer

  constructor(salt: Buffer) {
    this.salt = salt
    this.#accessors = hmacSha256(salt, 'accessors of tokens')
    this.#storageIds = hmacSha256(salt, 'storage ids of accessors')
  }

  accessorOf(id: string): string {
    return accessorFrom(hmacSha256(this.#accessors, id), namespaceIdOf(id))
  }

  storageIdOf(accessor: string): string {
    return `h${hmacSha256Hex(this.#storageIds, accessor)}`
  }

  /** Of a token whose id was chosen, or that an earlier version made: its accessor is random, and a row leads from it. */
  indexedStorageIdOf(id: string): string {
    return `h${hmacSha256Hex(this.salt, id)}`
  }

  /** How the row of a random accessor is named. */
  rowOf(accessor: string): string {
    return hmacSha256Hex(this.salt, accessor)
  }
}
