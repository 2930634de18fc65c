import type { Exchange } from '../../client/exchange.js'
import type { SimulatedWorld } from '../../server/simulated/world.js'
import type { VirtualTime } from './virtual-time.js'

const NOTHING = Buffer.alloc(0)

/** Carries requests to the servers of a world; time passes until they are answered. */
export const exchangeWith =
  (world: SimulatedWorld, time: VirtualTime): Exchange =>
  async ({ method, url, headers, body = NOTHING, timeoutMs }) => {
    const { origin } = new URL(url)
    const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    const message = { verb: method, url: url.slice(origin.length), headers: Object.fromEntries(names), body }
    const late = new AbortController()
    const tooLate = new Promise<undefined>((resolve) => {
      late.signal.addEventListener('abort', () => resolve(undefined))
    })
    const answer = await time.passUntil(async () => {
      const timer = world.clock.setTimer(timeoutMs, () => late.abort())
      const asked = world.findByApi(origin)?.exchange(message)
      const found = await Promise.race([asked ?? Promise.resolve(undefined), tooLate])
      timer.cancel()
      return found
    })
    if (answer) return answer
    throw new Error(late.signal.aborted ? `no answer within ${timeoutMs} virtual ms` : 'nobody answers')
  }
