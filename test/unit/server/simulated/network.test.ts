import { expect, it } from 'vitest'
import type { Wire } from '../../../../src/replication/rpc/simulated/wire.js'
import { Chance } from '../../../../src/server/simulated/chance.js'
import { History } from '../../../../src/server/simulated/history.js'
import { Network } from '../../../../src/server/simulated/network.js'
import { SimulatedClock } from '../../../../src/server/simulated/simulated-clock.js'

/** A closed connection leaves no resources, whichever end was notified of the close. */

const ADDRESS = '10.0.0.1:8201'
const LONG_MS = 1_000

interface Life {
  readonly name: string
  isAlive: boolean
  readonly frozenMs: number
}

interface Scene {
  readonly network: Network
  readonly clock: SimulatedClock
  readonly dialer: Life
  readonly listener: Life
  /** The dialer's end. */
  readonly wire: Wire
}

const die = (network: Network, life: Life, arePeersNotified: boolean): void => {
  network.removeHost(life, arePeersNotified)
  life.isAlive = false
}

const play = async (story: (scene: Scene) => Promise<void> | void): Promise<number> => {
  const clock = new SimulatedClock(new Chance('clock'))
  const network = new Network({
    clock,
    chance: new Chance('network'),
    history: new History(clock, false),
    delayMsMax: 10,
  })
  const dialer = { name: 'A', isAlive: true, frozenMs: 0 }
  const listener = { name: 'B', isAlive: true, frozenMs: 0 }
  const begin = async () => {
    network
      .viewOf(listener)
      .listen(ADDRESS, (wire) => wire.listen({ onMessage: () => undefined, onClose: () => undefined }))
    const wire = await network.viewOf(dialer).dial(ADDRESS, new AbortController().signal)
    wire.listen({ onMessage: () => undefined, onClose: () => undefined })
    expect(network.inTransit).toHaveLength(2)
    await story({ network, clock, dialer, listener, wire })
    await clock.sleep(LONG_MS)
  }
  await clock.run(begin(), 60_000)
  return network.inTransit.length
}

it('a connection closed with a notification leaves nothing', async () => {
  expect(await play(({ wire }) => wire.close())).toBe(0)
})

it('a connection of two dead ends leaves nothing', async () => {
  const left = await play(({ network, dialer, listener }) => {
    die(network, listener, false)
    die(network, dialer, false)
  })
  expect(left).toBe(0)
})

it('a connection closed by the end that detected the death of the other leaves nothing', async () => {
  const left = await play(({ network, listener, wire }) => {
    die(network, listener, false)
    wire.close()
  })
  expect(left).toBe(0)
})

it('a connection closed during a partition by an end that dies later leaves nothing', async () => {
  const left = await play(({ network, dialer, listener, wire }) => {
    network.cut(dialer.name, listener.name)
    wire.close()
    die(network, dialer, false)
    die(network, listener, true)
  })
  expect(left).toBe(0)
})

it('a connection stays open while one end has not noticed the close', async () => {
  expect(await play(({ network, listener }) => die(network, listener, false))).toBe(2)
})
