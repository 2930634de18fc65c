import { base62 } from '../../base/id.js'
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { sha256 } from '../../crypto/digest.js'
import type { JsonObject } from '../../logical/json.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The DR operation token. It is generated with key shares on a DR secondary, which stores only the hash of the token.
 * At most one token exists at a time. It authorizes every operation on the DR secondary until it is deleted or
 * replaced, or until the role of the cluster changes.
 */

/**
 * An attempt to generate a token with key shares, like generate-root. Errors are `LogicalError`s with the texts of
 * generate-root.
 */
export interface GenerationAttempt {
  /** Returns the body of a status response. */
  status(): JsonObject
  /** Starts an attempt. At most one of the two options may be set. */
  start(options: { otp: string; pgpKey: string }): JsonObject | Promise<JsonObject>
  cancel(): void
  update(options: { key: string; nonce: string }): Promise<JsonObject>
}

/** The status response if no attempt is possible. */
export const NO_ATTEMPT: JsonObject = {
  nonce: '',
  started: false,
  progress: 0,
  required: 0,
  complete: false,
  encoded_token: '',
  encoded_root_token: '',
  pgp_fingerprint: '',
  otp: '',
  otp_length: LIMITS.otpLength,
}

export class OperationTokens {
  readonly #storage: Storage
  readonly #random: Random

  constructor({ storage, random }: { storage: Storage; random: Random }) {
    this.#storage = storage
    this.#random = random
  }

  /**
   * Creates a token of 28 characters, and invalidates the previous token. Must be called only after enough key shares
   * were provided.
   */
  async create(): Promise<string> {
    const token = `hvs.${base62(this.#random, 24)}`
    const hash = sha256(token)
    await this.#storage.write((tx) => tx.put(KEYS.operationToken, hash))
    return token
  }

  isGood(token: string): boolean {
    const stored = this.#storage.get(KEYS.operationToken)
    return stored !== undefined && isSameSecret(stored, sha256(token))
  }

  async delete(): Promise<void> {
    await this.#storage.write(deleteOperationToken)
  }
}

export const deleteOperationToken = (tx: Transaction): void => tx.delete(KEYS.operationToken)
