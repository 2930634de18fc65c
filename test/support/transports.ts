import { type Clock, systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { formatHostPort, parseHostPort } from '../../src/base/network.js'
import { createSeededRandom } from '../../src/base/random.js'
import { createSimulatedTransport } from '../../src/replication/rpc/simulated/simulated-transport.js'
import type { ClusterTransport } from '../../src/replication/rpc/transport.js'
import type { ReplicationTimes } from '../../src/replication/model/types.js'
import type { MessageNetwork, Wire } from '../../src/replication/rpc/simulated/wire.js'
import { History } from '../../src/server/simulated/history.js'
import { Network } from '../../src/server/simulated/network.js'
import { FaultyNetwork, TIMES, transportOver } from './replication-fixture.js'

/** First port for listeners that request port 0. */
const FIRST_PORT = 49_152

const NEAR = { name: 'near', isAlive: true, frozenMs: 0 }
const FAR = { ...NEAR, name: 'far' }

/** The simulated network between two hosts: `near` opens connections, and `far` listens. */
export class SimulatedNetwork implements MessageNetwork {
  readonly #network: Network
  #nextPort = FIRST_PORT
  dials = 0

  constructor(clock: Clock, nextDelayMs: () => number) {
    const history = new History(clock, false)
    this.#network = new Network({ clock, history, chance: { next: nextDelayMs, happens: () => false }, delayMsMax: 1 })
  }

  listen(address: string, onWire: (wire: Wire) => void): { readonly address: string; close(): void } {
    const { host, port } = parseHostPort(address)
    return this.#network.viewOf(FAR).listen(formatHostPort(host, port === 0 ? this.#nextPort++ : port), onWire)
  }

  dial(address: string, signal: AbortSignal): Promise<Wire> {
    this.dials++
    return this.#network.viewOf(NEAR).dial(address, signal)
  }

  /** Breaks all connections. Both ends are notified. */
  cut(): void {
    this.#network.reset(NEAR.name, FAR.name)
  }

  /** Drops all messages from now on. Neither end is notified. */
  freeze(): void {
    this.#network.cut(NEAR.name, FAR.name)
    this.#network.cut(FAR.name, NEAR.name)
  }

  /** Ends a freeze. */
  thaw(): void {
    this.#network.heal()
  }
}

/** A transport, and the faults of its network. */
export interface FaultyTransport {
  readonly transport: ClusterTransport
  readonly network: Pick<FaultyNetwork, 'dials' | 'cut' | 'freeze' | 'thaw'>
}

/** Maximum latency of a message in milliseconds. */
const DELAY_MS_MAX = 3

/** All transports between clusters. */
export const TRANSPORTS: readonly (readonly [name: string, create: (times?: ReplicationTimes) => FaultyTransport])[] = [
  [
    'gRPC',
    (times) => {
      const network = new FaultyNetwork()
      return { transport: transportOver(network, times), network }
    },
  ],
  [
    'simulated messages',
    (given = TIMES) => {
      // A busy process reads no messages, and this transport does not detect that.
      const times = { ...given, keepaliveTimeoutMs: 60_000 }
      const random = createSeededRandom('transport')
      const nextDelayMs = () => ((random.bytes(1)[0] ?? 0) / 255) * DELAY_MS_MAX
      const network = new SimulatedNetwork(systemClock, nextDelayMs)
      const transport = createSimulatedTransport({ network, clock: systemClock, times, log: silentLog })
      return { transport, network }
    },
  ],
]
