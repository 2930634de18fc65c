import type { ReplicationHost, Surroundings } from './host.js'
import type { ClusterListener } from './rpc/cluster-listener.js'
import { PrimaryConnection } from './rpc/primary-connection.js'
import { overtakerIn, refusalCodeOf } from './rpc/refusal.js'
import { toPeerMessage } from './rpc/peer-identity.js'
import { StreamServer } from './primary/stream-server.js'
import { fetchBootstrap } from './secondary/bootstrap.js'
import { Follower } from './secondary/follower.js'
import type { DataPlane, OneCall, Told } from './services.js'

interface DataPlaneOptions {
  readonly host: Surroundings & Pick<ReplicationHost, 'store' | 'settings'>
  /** The cluster port; it outlives role changes. */
  readonly listener: ClusterListener
  /** Largest message of the log, in bytes. */
  readonly shipBatchBytes: number
}

/** The streams and calls of this process, over its cluster port and the injected network. */
export const createDataPlane = ({ host, listener, shipBatchBytes }: DataPlaneOptions): DataPlane => {
  const { store, clock, random, network, log, settings, recorder } = host
  const { times } = settings
  const { contexts } = listener
  return {
    startPrimary(kind, { identity, hooks, onChange }) {
      const server = new StreamServer({ kind, store, hooks, shipBatchBytes, clock, log, onChange, recorder })
      server.attach(listener, identity)
      return server
    },
    startFollower(kind, options) {
      const follower = new Follower({ kind, store, ...options, times, clock, random, network, contexts, log, recorder })
      follower.start()
      return follower
    },
    bootstrap: (call) => fetchBootstrap({ ...call, times, clock, network, recorder }),
    tell: (call) => tell(call, host),
  }
}

const tell = async (call: OneCall, { clock, network, settings }: DataPlaneOptions['host']): Promise<Told> => {
  const { times } = settings
  for (const address of call.addresses) {
    try {
      const connection = await PrimaryConnection.open(address, { ...call, times, clock, network })
      try {
        await connection.ping({ who: toPeerMessage(call.who) }, { timeoutMs: times.pingTimeoutMs, signal: call.signal })
      } finally {
        connection.close()
      }
      return { isHeard: true }
    } catch (error) {
      if (refusalCodeOf(error) !== undefined) return { isHeard: true, overtaker: overtakerIn(error) }
    }
  }
  return { isHeard: false }
}
