import type { ClusterTransport } from '../../replication/rpc/transport.js'
import type { SharedLog } from '../../storage/commit-log/shared-log.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'
import type { PeersHost } from './peers-options.js'

interface ServerParts {
  readonly node: () => PeersHost['node']
  /** Wraps a source as the server uses it. */
  readonly watched: (source: EngineSource) => EngineSource
  readonly beRemoved: () => void
  readonly becomeNode: (sharedLog: SharedLog) => void
  readonly transport: ClusterTransport
}

/** Creates the part of the server that its cluster's node management uses. */
export const createPeersHost = (
  host: RuntimeHost,
  { node, watched, becomeNode, beRemoved, transport }: ServerParts,
): PeersHost => ({
  get node() {
    return node()
  },
  requireRuntime: () => host.requireRuntime(),
  pauseWrites: () => host.pauseWrites(),
  resumeWrites: () => host.resumeWrites(),
  moveData: (reason, move, rootKey) => host.moveData(reason, async (engine) => watched(await move(engine)), rootKey),
  autoUnseal: () => host.autoUnseal(),
  wake: () => host.wake(),
  becomeNode,
  beRemoved,
  transport,
})
