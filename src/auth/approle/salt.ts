/**
 * Hashes for keys whose plain text must not lie on a disk: RoleIDs and accessors. The salt of a mount comes with its first
 * role, replicates with it and never changes.
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
  /** Only ever what is committed: a salt of a write that failed must not be remembered. */
  #value: Buffer | undefined
  /** Hashes under it: every login asks for that of its RoleID, and for that of an accessor. */
  readonly #hashes = new RecentCache<string>(LIMITS.saltedTextsMax)

  constructor(storage: Storage, random: Random) {
    this.#storage = storage
    this.#random = random
  }

  /** 64 hex digits; undefined while the mount never had a role, so that nothing can be found. */
  find(text: string): string | undefined {
    this.#value ??= this.#storage.get(SALT_KEY)
    return this.#value && (this.#hashes.get(text) ?? this.#remember(text, hmacSha256Hex(this.#value, text)))
  }

  /** Hashes within a write to the replicated storage, which makes the salt when there is none. */
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
