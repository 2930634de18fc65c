import { Backoff } from '../../base/backoff.js'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { LogicalError } from '../../logical/errors.js'
import type { SealManager } from './seal-manager.js'

interface AutoUnsealingOptions {
  /** Returns the current seal; undefined while the runtime is being replaced. */
  readonly seal: () => Pick<SealManager, 'autoUnseal'> | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly signal: AbortSignal
}

const BACKOFF = { initialMs: 500, maxMs: 5000 }

/**
 * Unseals a cluster with its auto-unseal seal. If another cluster holds the seal key and is unreachable, retries until
 * that cluster responds.
 */
export class AutoUnsealing {
  readonly #options: AutoUnsealingOptions
  #retrying: Promise<void> | undefined

  constructor(options: AutoUnsealingOptions) {
    this.#options = options
  }

  /**
   * Attempts to unseal once. If the cluster with the seal key is unavailable, continues with retries in the background.
   */
  async begin(): Promise<void> {
    if (await this.#isOver()) return
    this.#retrying ??= this.#retry().finally(() => {
      this.#retrying = undefined
    })
  }

  /** Resolves when no attempt is in progress. An abort of the signal stops the attempts. */
  async settled(): Promise<void> {
    await this.#retrying
  }

  async #retry(): Promise<void> {
    const { clock, random, log, signal } = this.#options
    const backoff = new Backoff(BACKOFF, random)
    try {
      do await clock.sleep(backoff.next(), signal)
      while (!(await this.#isOver()))
    } catch (error) {
      if (!signal.aborted) log.error('auto-unseal failed', { error: String(error) })
    }
  }

  /** Attempts to unseal. Returns true if no further attempt is needed. */
  async #isOver(): Promise<boolean> {
    const { seal, log, signal } = this.#options
    try {
      await seal()?.autoUnseal()
      return true
    } catch (error) {
      if (signal.aborted) return true
      if (!(error instanceof LogicalError) || error.code !== 'unavailable') throw error
      log.warn('the cluster with the seal key cannot unseal this cluster yet; retrying', { error: error.message })
      return false
    }
  }
}
