/**
 * Replaces the key shares of a cluster with the help of the current key shares. The root key stays the same: a new
 * share key wraps the root key and is split into the new shares. If the request requires verification, the current
 * shares remain valid until enough new shares are submitted. A cluster has at most one attempt at a time, in memory
 * only.
 */
import { uuid } from '../../base/id.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import type { Random } from '../../base/random.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { invalid } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { findSealConfigProblem, type SealConfig } from '../../seal/config.js'
import { combineShares } from '../../seal/key-shares.js'
import type { PgpKey } from '../../seal/pgp.js'
import { ShareCollector } from '../../seal/share-collector.js'
import {
  backupRecord,
  type CeremonySeal,
  encryptShares,
  requireKeyShare,
  requireOpenSeal,
  requirePgpKeys,
  toBase64,
  toHex,
} from './share-input.js'
import type { NewShares } from './seal-keys.js'

interface RekeyRequest {
  readonly config: SealConfig
  readonly pgpKeys: readonly string[]
  readonly hasBackup: boolean
  readonly needsVerification: boolean
}

interface RekeyOptions {
  readonly seal: CeremonySeal
  readonly random: Random
  /** Returns false on a secondary, which has the shares of its primary. */
  readonly isShareOwner: () => boolean
}

interface Attempt {
  readonly nonce: string
  readonly request: RekeyRequest
  readonly pgpKeys: readonly PgpKey[]
  readonly collector: ShareCollector
  /**
   * The root key buffer at the start of the attempt. Each unseal creates a new buffer, so a different buffer means that
   * the cluster has been sealed in the meantime.
   */
  readonly opening: Buffer | undefined
  /** The new shares while they await verification. */
  pending?: { nonce: string; readonly made: NewShares; readonly collector: ShareCollector }
}

export class Rekey {
  readonly #options: RekeyOptions
  readonly #lock = new KeyedLock()
  #attempt: Attempt | undefined

  constructor(options: RekeyOptions) {
    this.#options = options
  }

  status(): JsonObject {
    const { threshold } = this.#requireOpen()
    const attempt = this.#attempt
    return {
      nonce: attempt?.nonce ?? '',
      started: attempt !== undefined,
      t: attempt?.request.config.threshold ?? 0,
      n: attempt?.request.config.shares ?? 0,
      progress: attempt?.collector.progress ?? 0,
      required: threshold,
      pgp_fingerprints: attempt ? fingerprints(attempt) : null,
      backup: attempt?.request.hasBackup ?? false,
      verification_required: attempt?.request.needsVerification ?? false,
      ...(attempt?.pending && { verification_nonce: attempt.pending.nonce }),
    }
  }

  start(request: RekeyRequest): Promise<JsonObject> {
    return this.#lock.run('rekey', async () => {
      this.#requireOpen()
      if (!this.#options.isShareOwner()) {
        throw invalid('a secondary has the key shares of its primary; rekey the primary')
      }
      const problem = findRequestProblem(request)
      if (problem !== undefined) throw invalid(problem)
      const pgpKeys = await requirePgpKeys(request.pgpKeys)
      if (this.#attempt) throw invalid('rekey already in progress')
      const { random, seal } = this.#options
      const collector = new ShareCollector()
      this.#attempt = { nonce: uuid(random), request, pgpKeys, collector, opening: seal.rootKey }
      return this.status()
    })
  }

  /** Cancels the attempt and discards its shares. Does nothing without an attempt. */
  cancel(): void {
    this.#requireOpen()
    this.#clear()
  }

  /** Adds a current share. The share that reaches the threshold returns the new shares. */
  update(input: { readonly key: string; readonly nonce: string }): Promise<JsonObject> {
    const share = requireKeyShare(input.key)
    return this.#lock.run('rekey', async () => {
      const { threshold } = this.#requireOpen()
      const attempt = this.#attempt
      if (!attempt) throw invalid('no rekey in progress')
      if (attempt.nonce !== input.nonce) {
        throw invalid(`incorrect nonce supplied; nonce for this rekey operation is "${attempt.nonce}"`)
      }
      if (attempt.pending) throw invalid('rekey operation already finished; verify the new shares')
      if (attempt.collector.offer(share) === 'duplicate') {
        throw invalid('given key has already been provided during this generation operation')
      }
      return attempt.collector.progress < threshold ? this.status() : this.#complete(attempt)
    })
  }

  verificationStatus(): JsonObject {
    this.#requireOpen()
    const attempt = this.#attempt
    if (!attempt) throw invalid('no rekey configuration found')
    return {
      nonce: attempt.pending?.nonce ?? '',
      started: attempt.pending !== undefined,
      t: attempt.request.config.threshold,
      n: attempt.request.config.shares,
      progress: attempt.pending?.collector.progress ?? 0,
    }
  }

  /** Adds a new share for verification. The share that reaches the threshold makes the new shares valid. */
  verify(input: { readonly key: string; readonly nonce: string }): Promise<JsonObject> {
    const share = requireKeyShare(input.key)
    return this.#lock.run('rekey', async () => {
      this.#requireOpen()
      const pending = this.#attempt?.pending
      if (!pending) throw invalid('no rekey verification in progress')
      if (pending.nonce !== input.nonce) {
        throw invalid(`incorrect nonce supplied; nonce for this verify operation is "${pending.nonce}"`)
      }
      if (pending.collector.offer(share) === 'duplicate') {
        throw invalid('given key has already been provided during this verify operation')
      }
      const { made, collector, nonce } = pending
      if (collector.progress < made.config.threshold) return this.verificationStatus()
      const shareKey = await collector.spend((shares) => combineShares(shares, made.config))
      if (!shareKey || !isSameSecret(shareKey, made.shareKey)) {
        throw invalid('rekey verification failed: these are not the new shares')
      }
      await this.#options.seal.keys.adopt(made)
      this.#clear()
      return { nonce, complete: true }
    })
  }

  /**
   * Discards the new shares submitted so far, and changes the nonce of the verification. Throws LogicalError 400 if no
   * verification is in progress.
   */
  restartVerification(): JsonObject {
    this.#requireOpen()
    if (!this.#attempt) throw invalid('no rekey configuration found')
    const { pending } = this.#attempt
    if (!pending) throw invalid('no rekey verification in progress')
    pending.collector.clear()
    pending.nonce = uuid(this.#options.random)
    return this.verificationStatus()
  }

  async #complete(attempt: Attempt): Promise<JsonObject> {
    const { seal, random } = this.#options
    const { config, hasBackup, needsVerification } = attempt.request
    const rootKey = await attempt.collector.spend((shares) => seal.keys.findRootKey(shares))
    if (!rootKey) throw invalid('rekey aborted: the key shares do not produce the root key')
    // The attempt may have been canceled while the shares were verified.
    if (this.#attempt !== attempt) throw invalid('no rekey in progress')
    const plain = await seal.keys.newShares(config, rootKey)
    const handedOut = await encryptShares(plain.shares, attempt.pgpKeys)
    const backup = hasBackup ? [backupRecord(attempt.nonce, attempt.pgpKeys, handedOut)] : []
    const made = { ...plain, records: [...plain.records, ...backup] }
    if (needsVerification) attempt.pending = { nonce: uuid(random), made, collector: new ShareCollector() }
    else {
      await seal.keys.adopt(made)
      this.#clear()
    }
    return {
      nonce: attempt.nonce,
      complete: true,
      keys: toHex(handedOut),
      keys_base64: toBase64(handedOut),
      pgp_fingerprints: fingerprints(attempt),
      backup: hasBackup,
      verification_required: needsVerification,
      ...(attempt.pending && { verification_nonce: attempt.pending.nonce }),
    }
  }

  /**
   * Returns the seal configuration. Throws LogicalError if the cluster is sealed. Discards an attempt that was started
   * before the last seal.
   */
  #requireOpen(): SealConfig {
    const { seal } = this.#options
    const config = requireOpenSeal(seal)
    if (this.#attempt && this.#attempt.opening !== seal.rootKey) this.#clear()
    return config
  }

  #clear(): void {
    this.#attempt?.collector.clear()
    this.#attempt?.pending?.collector.clear()
    this.#attempt = undefined
  }
}

const findRequestProblem = ({ config, pgpKeys, hasBackup }: RekeyRequest): string | undefined => {
  if (config.threshold > config.shares) return 'provided threshold greater than the total shares'
  const problem = findSealConfigProblem(config)
  if (problem !== undefined) return `invalid rekey seal configuration: ${problem}`
  if (pgpKeys.length > 0 && pgpKeys.length !== config.shares) return 'incorrect number of PGP keys for rekey'
  if (hasBackup && pgpKeys.length === 0) {
    return 'cannot request a backup of the new keys without providing PGP keys for encryption'
  }
  return undefined
}

const fingerprints = (attempt: Attempt): string[] | null =>
  attempt.pgpKeys.length === 0 ? null : attempt.pgpKeys.map((key) => key.fingerprint)
