/**
 * Salted hashes for keys whose plaintext must not be on disk: RoleIDs and accessors. The salt is created with the first role
 * of a mount, replicates with it and never changes.
 */
import { uuid } from '../../base/id.js'
import { LIMITS } from '../../base/limits.js'
import { RecentCache } from '../../base/recent-cache.js'
import type { Random } from '../../base/random.js'
import { hmacSha256Hex } from '../../crypto/hmac.js'
import type { Storage, Transaction } from '../../logical/storage.js'

const SALT_KEY = 'salt'

export class Salt {
  readonly #storage: Storage
  readonly #random: Random
  /** The committed salt. The salt of a failed write must not be cached. */
  #value: Buffer | undefined
  /** Hashes under the salt: every login needs the hash of its RoleID and that of an accessor. */
  readonly #hashes = new RecentCache<string>(LIMITS.saltedTextsMax)

  constructor(storage: Storage, random: Random) {
    this.#storage = storage
    this.#random = random
  }

  /** Returns 64 hex digits; undefined while the mount has never had a role. */
  find(text: string): string | undefined {
    this.#value ??= this.#storage.get(SALT_KEY)
    return this.#value && (this.#hashes.get(text) ?? this.#remember(text, hmacSha256Hex(this.#value, text)))
  }

  /** Returns the hash within a write to the replicated storage, and creates the salt if there is none. */
  hash(tx: Transaction, text: string): string {
    const salt = this.#value ?? tx.get(SALT_KEY) ?? this.#create(tx)
    return hmacSha256Hex(salt, text)
  }

  invalidate(key: string): void {
    if (key !== SALT_KEY) return
    this.#value = undefined
    this.#hashes.clear()
  }

  #remember(text: string, hash: string): string {
    if (text.length <= LIMITS.saltedTextCharactersMax) this.#hashes.set(text, hash)
    return hash
  }

  #create(tx: Transaction): Buffer {
    const salt = Buffer.from(uuid(this.#random))
    tx.put(SALT_KEY, salt)
    return salt
  }
}
