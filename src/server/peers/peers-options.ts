import type { Facilities } from '../../base/facilities.js'
import type { ClusterTransport } from '../../replication/rpc/transport.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { SharedLog } from '../../storage/commit-log/shared-log.js'
import type { ServerConfig } from '../config/config.js'
import type { Runtime } from '../runtime/runtime.js'

export interface PeersOptions extends Facilities {
  readonly config: ServerConfig
  /** The data directory. */
  readonly directory: string
}

/** The parts of the server that node management needs. */
export interface PeersHost {
  /** Throws LogicalError 503 if there is no runtime. */
  requireRuntime(): Runtime
  readonly transport: ClusterTransport
  readonly node: { readonly isServing: boolean; readonly sharedLog: SharedLog; stepDown(): void } | undefined
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /**
   * Rebuilds the runtime on another source, which `move` creates from the current one, and unseals it with `rootKey` or the
   * previous key. If it rejects, nothing has changed.
   */
  moveData(reason: string, move: (engine: Engine) => Promise<EngineSource>, rootKey?: Buffer): Promise<void>
  /** Unseals with the auto-unseal seal, if any: now, or as soon as the seal is reachable. */
  autoUnseal(): Promise<void>
  /** Makes waiting requests check again. Call it when they may be able to continue. */
  wake(): void
  /** Makes the server stop serving permanently. */
  beRemoved(): void
  /** Makes the server a node of the cluster that shares this log. */
  becomeNode(sharedLog: SharedLog): void
}
