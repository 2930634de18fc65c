import { systemClock } from '../../src/base/clock.js'

export interface Outage {
  /** Milliseconds from the start of the first failed request to the first success at the other address. */
  readonly ms: number
  /** The longest time between the ends of two requests: the precision of `ms`. */
  readonly resolutionMs: number
}

const PAUSE_MS = 5
const PATIENCE_MS = 1000

/**
 * A client that is independent of the clients of a drill. It writes through `fetch` with its own token, to the first
 * address until a write fails, and then to the second address.
 */
export class OutageObserver {
  readonly #token: string
  readonly #running: Promise<Outage>
  #isStopping = false

  constructor(first: string, second: string, token: string) {
    this.#token = token
    this.#running = this.#watch(first, second)
  }

  /** Stops, and returns the measured outage. Rejects if there was no outage, or if it did not end. */
  async stop(): Promise<Outage> {
    this.#isStopping = true
    return this.#running
  }

  async #watch(first: string, second: string): Promise<Outage> {
    let resolutionMs = 0
    let lastMs = systemClock.monotonic()
    let fromMs: number | undefined
    for (let n = 0; !this.#isStopping; n++) {
      const sentMs = systemClock.monotonic()
      const isAccepted = await this.#write(fromMs === undefined ? first : second, n)
      const endedMs = systemClock.monotonic()
      resolutionMs = Math.max(resolutionMs, endedMs - lastMs)
      lastMs = endedMs
      if (!isAccepted) fromMs ??= sentMs
      else if (fromMs !== undefined) return { ms: endedMs - fromMs, resolutionMs }
      await systemClock.sleep(PAUSE_MS)
    }
    throw new Error(fromMs === undefined ? 'it was never refused' : 'it was never served again')
  }

  async #write(address: string, n: number): Promise<boolean> {
    try {
      const answer = await fetch(`${address}/v1/observer/${n % 10}`, {
        method: 'PUT',
        headers: { 'X-Vault-Token': this.#token },
        body: JSON.stringify({ n }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      })
      await answer.arrayBuffer()
      return answer.ok
    } catch {
      return false
    }
  }
}
