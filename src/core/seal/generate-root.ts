/**
 * Generates a token from key shares: a root token, or the operation token of a DR secondary. Only the recipient can
 * decrypt the token. A cluster has at most one attempt at a time. The attempt is in memory only, and is lost when the
 * process ends, the cluster is sealed, or the role of the cluster changes.
 */
import { uuid } from '../../base/id.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { invalid } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import type { SealConfig } from '../../seal/config.js'
import { createOtp, isOtpLength } from '../../seal/otp.js'
import { encodeWithOtp } from '../../base/one-time-pad.js'
import type { PgpKey } from '../../seal/pgp.js'
import { ShareCollector } from '../../seal/share-collector.js'
import { type CeremonySeal, requireKeyShare, requireOpenSeal, requirePgpKeys } from './share-input.js'

type GenerationStrategy = 'root' | 'dr-operation'

/** How the token is encrypted for its recipient: with an OTP or with a PGP key. */
type Recipient = { readonly by: 'otp'; readonly otp: string } | { readonly by: 'pgp'; readonly key: PgpKey }

interface Attempt {
  readonly nonce: string
  readonly strategy: GenerationStrategy
  readonly recipient: Recipient
  readonly collector: ShareCollector
  /**
   * The root key buffer at the start of the attempt. Each unseal creates a new buffer, so a different buffer means that
   * the cluster has been sealed in the meantime.
   */
  readonly opening: Buffer | undefined
}

/** The one active attempt, shared by all strategies of a cluster. */
export class GenerationSlot {
  readonly lock = new KeyedLock()
  attempt: Attempt | undefined

  clear(): void {
    this.attempt?.collector.clear()
    this.attempt = undefined
  }
}

interface GenerationOptions {
  readonly strategy: GenerationStrategy
  readonly slot: GenerationSlot
  readonly seal: CeremonySeal
  readonly random: Random
  /** Creates the token of 28 characters after the shares were verified. Resolves when the token is durable. */
  readonly makeToken: () => Promise<string>
}

/** The operations on the attempt of one strategy. They return the body of the API response. */
export class GenerationAttempt {
  readonly #options: GenerationOptions

  constructor(options: GenerationOptions) {
    this.#options = options
  }

  status(): JsonObject {
    this.#requireOpen()
    return this.#render(this.#ownAttempt(), { otp_length: LIMITS.otpLength })
  }

  /**
   * Starts an attempt. If `otp` and `pgpKey` are empty, a one-time password is generated, and shown only in this
   * response.
   */
  start(input: { readonly otp: string; readonly pgpKey: string }): Promise<JsonObject> {
    return this.#options.slot.lock.run('generation', async () => {
      this.#requireOpen()
      const recipient = await this.#recipientOf(input)
      if (this.#options.slot.attempt) throw invalid('root generation already in progress')
      const { strategy, random, seal } = this.#options
      const collector = new ShareCollector()
      this.#options.slot.attempt = { nonce: uuid(random), strategy, recipient, collector, opening: seal.rootKey }
      const isOtpMade = recipient.by === 'otp' && input.otp === ''
      return this.#render(this.#options.slot.attempt, {
        otp: isOtpMade ? recipient.otp : '',
        otp_length: LIMITS.otpLength,
      })
    })
  }

  /** Cancels the attempt and discards its shares. Does nothing if this strategy has no attempt. */
  cancel(): void {
    this.#requireOpen()
    if (this.#ownAttempt()) this.#options.slot.clear()
  }

  /**
   * Adds a share. The share that reaches the threshold completes the attempt. If the shares are wrong, throws
   * LogicalError 400, and the attempt starts again without shares.
   */
  update(input: { readonly key: string; readonly nonce: string }): Promise<JsonObject> {
    const share = requireKeyShare(input.key)
    return this.#options.slot.lock.run('generation', async () => {
      const { threshold } = this.#requireOpen()
      const attempt = this.#requireAttempt(input.nonce)
      if (attempt.collector.offer(share) === 'duplicate') {
        throw invalid('given key has already been provided during this generation operation')
      }
      if (attempt.collector.progress < threshold) return this.#render(attempt)
      return this.#complete(attempt, threshold)
    })
  }

  async #complete(attempt: Attempt, threshold: number): Promise<JsonObject> {
    const { seal, slot, makeToken } = this.#options
    const rootKey = await attempt.collector.spend((shares) => seal.keys.findRootKey(shares))
    if (!rootKey) throw invalid('root generation aborted: the key shares do not produce the root key')
    // The attempt may have been canceled while the shares were verified.
    if (slot.attempt !== attempt) throw invalid('no root generation in progress')
    const encoded = await encodeFor(attempt.recipient, await makeToken())
    slot.clear()
    return this.#render(attempt, {
      progress: threshold,
      complete: true,
      encoded_token: encoded,
      encoded_root_token: attempt.strategy === 'root' ? encoded : '',
    })
  }

  async #recipientOf({ otp, pgpKey }: { otp: string; pgpKey: string }): Promise<Recipient> {
    if (otp !== '' && pgpKey !== '') throw invalid('only one of "otp" and "pgp_key" may be given')
    if (pgpKey !== '') {
      const [key] = await requirePgpKeys([pgpKey])
      if (key) return { by: 'pgp', key }
    }
    if (otp !== '' && !isOtpLength(otp)) throw invalid('OTP string has incorrect length')
    return { by: 'otp', otp: otp === '' ? createOtp(this.#options.random) : otp }
  }

  /**
   * Returns the seal configuration. Throws LogicalError if the cluster is sealed. Discards an attempt that was started
   * before the last seal.
   */
  #requireOpen(): SealConfig {
    const { seal, slot } = this.#options
    const config = requireOpenSeal(seal)
    if (slot.attempt && slot.attempt.opening !== seal.rootKey) slot.clear()
    return config
  }

  #requireAttempt(nonce: string): Attempt {
    const { attempt } = this.#options.slot
    if (!attempt) throw invalid('no root generation in progress')
    if (attempt.strategy !== this.#options.strategy) {
      throw invalid('incorrect strategy supplied; a generate root operation of another type is already in progress')
    }
    if (attempt.nonce !== nonce) {
      throw invalid(`incorrect nonce supplied; nonce for this root generation operation is "${attempt.nonce}"`)
    }
    return attempt
  }

  #ownAttempt(): Attempt | undefined {
    const { attempt } = this.#options.slot
    return attempt?.strategy === this.#options.strategy ? attempt : undefined
  }

  #render(attempt: Attempt | undefined, changes: JsonObject = {}): JsonObject {
    return {
      nonce: attempt?.nonce ?? '',
      started: attempt !== undefined,
      progress: attempt?.collector.progress ?? 0,
      required: this.#options.seal.keys.config?.threshold ?? 0,
      complete: false,
      encoded_token: '',
      encoded_root_token: '',
      pgp_fingerprint: attempt?.recipient.by === 'pgp' ? attempt.recipient.key.fingerprint : '',
      otp: '',
      otp_length: 0,
      ...changes,
    }
  }
}

const encodeFor = async (recipient: Recipient, token: string): Promise<string> =>
  recipient.by === 'otp'
    ? encodeWithOtp(token, recipient.otp)
    : (await recipient.key.encrypt(Buffer.from(token))).toString('base64')
