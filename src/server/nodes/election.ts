import type { Facilities } from '../../base/facilities.js'
import { limitSignal } from '../../base/linked-signal.js'
import { LogicalError } from '../../logical/errors.js'
import type { Candidate, Leadership, SharedLog } from '../../storage/shared-log/shared-log.js'

interface ElectionOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly sharedLog: SharedLog
  readonly candidate: Candidate
  /** Milliseconds for which the node stays out of elections after `rest`. */
  readonly restMs: number
}

const SOON_MS = 10_000
/** Pause in milliseconds between attempts if the shared log refuses a campaign. */
const PAUSE_MS = 1000

/** Campaigns for the leadership of one node. */
export class Election {
  readonly #options: ElectionOptions
  #withdrawal = new AbortController()
  #restsUntilMs = 0

  constructor(options: ElectionOptions) {
    this.#options = options
  }

  /** Campaigns until this node is the leader. Resolves to undefined if `withdraw` is called first. */
  async stand(): Promise<Leadership | undefined> {
    const { clock, log } = this.#options
    this.#withdrawal = new AbortController()
    const { signal } = this.#withdrawal
    while (!signal.aborted) {
      try {
        await clock.sleep(Math.max(0, this.#restsUntilMs - clock.monotonic()), signal)
        const leadership = await this.#campaign(signal)
        if (!signal.aborted) return leadership
        await leadership.resign()
      } catch (error) {
        if (signal.aborted) return undefined
        log.warn('cannot campaign for leadership, trying again in one second', { error })
        await clock.sleep(PAUSE_MS, signal).catch(() => undefined)
      }
    }
    return undefined
  }

  withdraw(): void {
    this.#withdrawal.abort(new Error('the node withdrew from the election'))
  }

  rest(): void {
    const { clock, restMs } = this.#options
    this.#restsUntilMs = clock.monotonic() + restMs
  }

  /** Makes this node the leader. Rejects with `LogicalError` `unavailable` after ten seconds. */
  async leadSoon(): Promise<Leadership> {
    const late = new LogicalError('unavailable', 'the shared log of the cluster does not respond')
    using limit = limitSignal(this.#options.clock, SOON_MS, undefined, late)
    return await this.#campaign(limit.signal)
  }

  #campaign(signal: AbortSignal): Promise<Leadership> {
    const { sharedLog, candidate } = this.#options
    return sharedLog.campaign(candidate, signal)
  }
}
