import type { ReplicationHost, Surroundings } from '../host/host.js'
import type { ClusterPort, ClusterTransport } from '../rpc/transport.js'
import { atActiveNode } from '../rpc/active-node.js'
import { overtakerIn, refusalCodeOf } from '../rpc/refusal.js'
import { toPeerMessage } from '../rpc/peer-identity.js'
import { StreamServer } from '../primary/stream-server.js'
import { fetchBootstrap } from '../secondary/bootstrap.js'
import { Follower } from '../secondary/follower.js'
import type { DataPlane, OneCall, Told } from '../host/services.js'
import type { ReplicationTimes } from '../model/types.js'

interface DataPlaneOptions {
  readonly host: Surroundings & Pick<ReplicationHost, 'store' | 'settings'>
  /** The cluster port. It stays open during role changes. */
  readonly port: ClusterPort
  readonly transport: ClusterTransport
  /** Maximum bytes of a log message. */
  readonly shipBatchBytes: number
}

/** Size of one import of a resync, as a multiple of the maximum log message. */
const BATCHES_AN_IMPORT = 8

/** Creates the streams and calls of this process. Uses its cluster port and the injected transport. */
export const createDataPlane = ({ host, port, transport, shipBatchBytes }: DataPlaneOptions): DataPlane => {
  const { store, clock, random, log, settings, recorder } = host
  const { times } = settings
  return {
    startPrimary(kind, { identity, hooks, onChange }) {
      const server = new StreamServer({ kind, store, hooks, shipBatchBytes, clock, log, onChange, recorder })
      server.attach(port, identity)
      return server
    },
    startFollower(kind, options) {
      const importBytes = BATCHES_AN_IMPORT * shipBatchBytes
      const parts = { importBytes, times, clock, random, transport, log, recorder }
      const follower = new Follower({ kind, store, ...options, ...parts })
      follower.start()
      return follower
    },
    bootstrap: (call) => fetchBootstrap({ ...call, times, clock, transport, recorder }),
    tell: (call) => tell(call, transport, times),
  }
}

const tell = async (call: OneCall, transport: ClusterTransport, times: ReplicationTimes): Promise<Told> => {
  for (const address of call.addresses) {
    try {
      await atActiveNode(address, async (at) => {
        const connection = await transport.connect(at, { ...call, times })
        try {
          await connection.call(
            'ping',
            { who: toPeerMessage(call.who) },
            { timeoutMs: times.pingTimeoutMs, signal: call.signal },
          )
        } finally {
          connection.close()
        }
      })
      return { isHeard: true }
    } catch (error) {
      if (![undefined, 'standby'].includes(refusalCodeOf(error)))
        return { isHeard: true, overtaker: overtakerIn(error) }
    }
  }
  return { isHeard: false }
}
