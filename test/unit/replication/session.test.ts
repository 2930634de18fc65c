import { afterEach, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { Session } from '../../../src/replication/rpc/simulated/session.js'
import { SimulatedNetwork } from '../../support/transports.js'

const TIMES = { keepaliveTimeMs: 500, keepaliveTimeoutMs: 500, connectTimeoutMs: 5000 }
const DONE = new LogicalError('unavailable', 'the test has ended')

let sessions: Session[] = []
afterEach(() => {
  for (const session of sessions) session.close(DONE)
  sessions = []
})

/** Connects two ends whose messages take `delayMs`. */
const connect = async (delayMs: number) => {
  const clock = new ManualClock()
  const network = new SimulatedNetwork(clock, () => delayMs)
  const { address } = network.listen('s:0', (wire) => sessions.push(new Session(wire, { clock, times: TIMES })))
  const dialled = network.dial(address, new AbortController().signal)
  clock.advance(delayMs)
  sessions.push(new Session(await dialled, { clock, times: TIMES }))
  return { clock, network, lost: () => sessions.map((session) => session.lost.aborted) }
}

it('an idle session lasts, also when a round trip takes longer than the keepalive timeout', async () => {
  for (const delayMs of [0, 3, 400]) {
    const { clock, lost } = await connect(delayMs)
    clock.advance(3_600_000)
    expect(lost(), `${delayMs} ms`).not.toContain(true)
    sessions = []
  }
})

it('both ends of a suspended session are lost after the keepalive times and a round trip', async () => {
  const { clock, network, lost } = await connect(50)
  clock.advance(10_000)
  network.freeze()
  clock.advance(TIMES.keepaliveTimeoutMs)
  expect(lost()).toEqual([false, false])
  clock.advance(TIMES.keepaliveTimeMs + 100)
  expect(lost()).toEqual([true, true])
})

it('the first ping of a session has the connect timeout', async () => {
  const { clock, network, lost } = await connect(50)
  network.freeze()
  clock.advance(TIMES.connectTimeoutMs)
  expect(lost()).toEqual([false, false])
  clock.advance(TIMES.keepaliveTimeoutMs)
  expect(lost()).toEqual([true, true])
})
