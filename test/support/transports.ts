import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { createSeededRandom } from '../../src/base/random.js'
import { SimulatedNetwork } from './simulated-network.js'
import { createSimulatedTransport } from '../../src/replication/rpc/simulated/simulated-transport.js'
import type { ClusterTransport } from '../../src/replication/rpc/transport.js'
import type { ReplicationTimes } from '../../src/replication/model/types.js'
import { FaultyNetwork, TIMES, transportOver } from './replication-fixture.js'

/** A transport and the faults of the network below it. */
export interface FaultyTransport {
  readonly transport: ClusterTransport
  readonly network: Pick<FaultyNetwork, 'dials' | 'cut' | 'freeze' | 'thaw'>
}

/** Messages take up to so long. */
const DELAY_MS_MAX = 3

/** Every way in which clusters reach one another. */
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
      // A process that is busy reads nothing, and this transport does not know that it was busy.
      const times = { ...given, keepaliveTimeoutMs: 60_000 }
      const random = createSeededRandom('transport')
      const nextDelayMs = () => ((random.bytes(1)[0] ?? 0) / 255) * DELAY_MS_MAX
      const network = new SimulatedNetwork(systemClock, nextDelayMs)
      const transport = createSimulatedTransport({ network, clock: systemClock, times, log: silentLog })
      return { transport, network }
    },
  ],
]
