/** sys/rotate/config: rotates the encryption key after a number of encryptions, or at an age. */
import type { Clock } from '../../base/clock.js'
import { formatGoDuration } from '../../base/duration.js'
import type { Log } from '../../base/log.js'
import { PeriodicWork } from '../../base/periodic-work.js'
import { type Call, definePath, type PathSpec, sentBy } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int } from '../../logical/fields.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface RotationConfig {
  readonly enabled: boolean
  readonly maxOperations: number
  /** The maximum age of the key; 0 for no maximum. */
  readonly intervalSeconds: number
}

/** The maximum number of encryptions with one key, from NIST SP 800-38D with a margin. */
const OPERATIONS_MAX = 3_865_470_566
const OPERATIONS_MIN = 1_000_000
const INTERVAL_MIN_SECONDS = 24 * 3600
const CHECK_MS = 10 * 60_000

const DEFAULTS: RotationConfig = { enabled: true, maxOperations: OPERATIONS_MAX, intervalSeconds: 0 }

interface KeyRotationOptions {
  readonly storage: Storage
  readonly barrier: {
    readonly activeTerm: { readonly term: number; readonly sinceMs: number }
    /** The number of encryptions since the start of the server, with all keys. */
    readonly encryptions: number
    rotate(): Promise<unknown>
  }
  /** Returns whether this cluster may rotate the key, which it shares with its secondaries. */
  readonly mayRotate: () => boolean
  readonly clock: Clock
  readonly log: Log
}

export class KeyRotation {
  readonly #options: KeyRotationOptions
  readonly #work: PeriodicWork
  /** The term at the last check, and the number of encryptions at its start. */
  #counted = { term: 0, from: 0 }

  constructor(options: KeyRotationOptions) {
    this.#options = options
    this.#work = new PeriodicWork(() =>
      this.rotateIfDue().catch((error: unknown) =>
        options.log.warn('the encryption key could not be rotated', { error }),
      ),
    )
  }

  start(signal: AbortSignal): void {
    this.#work.start(this.#options.clock, CHECK_MS, signal)
  }

  stop(): Promise<void> {
    return this.#work.settled()
  }

  get config(): RotationConfig {
    return readJson<RotationConfig>(this.#options.storage, KEYS.keyRotation) ?? DEFAULTS
  }

  configure(config: RotationConfig): Promise<void> {
    return this.#options.storage.write((tx) => putJson(tx, KEYS.keyRotation, config))
  }

  async rotateIfDue(): Promise<void> {
    const { barrier, mayRotate, clock, log } = this.#options
    if (!mayRotate()) return
    const { enabled, maxOperations, intervalSeconds } = this.config
    const { term, sinceMs } = barrier.activeTerm
    if (term !== this.#counted.term) this.#counted = { term, from: this.#counted.term === 0 ? 0 : barrier.encryptions }
    const isOld = intervalSeconds > 0 && clock.now() - sinceMs >= intervalSeconds * 1000
    if (!enabled || !(isOld || barrier.encryptions - this.#counted.from >= maxOperations)) return
    await barrier.rotate()
    log.info('the encryption key was rotated', { reason: isOld ? 'interval' : 'max_operations' })
  }
}

const FIELDS = {
  enabled: bool('Whether the key rotates automatically.', true),
  max_operations: int('Number of encryptions after which the key rotates.', OPERATIONS_MAX),
  interval: duration('Age at which the key rotates; 0 for no maximum age.'),
}

export const keyRotationPaths = (rotation: KeyRotation): PathSpec[] => [
  definePath('rotate/config', FIELDS, 'Read or change when the encryption key rotates.', {
    read: () => {
      const { enabled, maxOperations, intervalSeconds } = rotation.config
      const interval = intervalSeconds === 0 ? 0 : formatGoDuration(intervalSeconds)
      return { data: { enabled, max_operations: maxOperations, interval } }
    },
    update: async (call: Call<typeof FIELDS>) => {
      const sent = sentBy(call)
      const before = rotation.config
      const after = {
        enabled: sent('enabled') ?? before.enabled,
        maxOperations: sent('max_operations') ?? before.maxOperations,
        intervalSeconds: sent('interval') ?? before.intervalSeconds,
      }
      if (after.maxOperations < OPERATIONS_MIN || after.maxOperations > OPERATIONS_MAX)
        throw invalid(`max_operations must be in the range [${OPERATIONS_MIN},${OPERATIONS_MAX}]`)
      if (after.intervalSeconds !== 0 && after.intervalSeconds < INTERVAL_MIN_SECONDS)
        throw invalid('interval must be greater or equal to 24h0m0s')
      await rotation.configure(after)
      return undefined
    },
  }),
]
