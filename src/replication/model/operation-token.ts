import { base62 } from '../../base/id.js'
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { sha256 } from '../../crypto/digest.js'
import type { JsonObject } from '../../logical/json.js'
import type { Storage, Transaction } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The DR operation token. A key-share ceremony creates the token on a DR secondary, which stores only its hash. At most
 * one token exists at a time. It authorizes every DR secondary operation until it is deleted or replaced, or until the
 * role of the cluster changes.
 */

/**
 * An attempt to generate the token from key shares, with the state machine of generate-root. Errors are `LogicalError`s
 * with the texts of generate-root.
 */
export interface GenerationAttempt {
  /** Returns the bare body of a status response. */
  status(): JsonObject
  /** Starts an attempt. At most one of the two options is not empty. */
  start(options: { otp: string; pgpKey: string }): JsonObject | Promise<JsonObject>
  cancel(): void
  update(options: { key: string; nonce: string }): Promise<JsonObject>
}

/** The response of GET attempt if no attempt can run. */
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

  /** Creates a token of 28 characters and invalidates the previous one. Called when the ceremony is complete. */
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
