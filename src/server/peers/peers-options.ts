import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Network } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import type { ClusterTransport } from '../../replication/rpc/transport.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { SharedLog } from '../../storage/commit-log/shared-log.js'
import type { ServerConfig } from '../config/config.js'
import type { Runtime } from '../runtime/runtime.js'

export interface PeersOptions {
  readonly config: ServerConfig
  /** Of the data. */
  readonly directory: string
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly log: Log
}

/** The server around the runtimes, as far as the nodes of its cluster need it. */
export interface PeersHost {
  /** Throws LogicalError 503 where there is none. */
  requireRuntime(): Runtime
  readonly transport: ClusterTransport
  readonly node: { readonly isServing: boolean; readonly sharedLog: SharedLog; stepDown(): void } | undefined
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /**
   * The runtime is built anew on another source, which `move` makes from what is there, and opened with the key, or with the
   * one that it had. When it rejects, all is as before.
   */
  moveData(reason: string, move: (engine: Engine) => Promise<EngineSource>, rootKey?: Buffer): Promise<void>
  /** Opens the cluster by its auto-unseal seal, if it has one: now, or as soon as that can be asked. */
  autoUnseal(): Promise<void>
  /** To be called when what requests wait for may be over. */
  wake(): void
  /** From now on the server serves nothing. */
  beRemoved(): void
  /** From now on the server is one of several that share this log. */
  becomeNode(sharedLog: SharedLog): void
}
