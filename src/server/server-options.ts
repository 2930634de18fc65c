import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Network } from '../base/network.js'
import type { Random } from '../base/random.js'
import type { SharedLog } from '../storage/commit-log/shared-log.js'
import type { EngineSource } from '../storage/engine/engine-source.js'
import type { ServerConfig } from './config/config.js'
import type { Peers } from './peers/peers.js'
import type { StandIns } from './rules/stand-ins.js'

export interface ServerOptions {
  readonly config: ServerConfig
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  readonly network?: Network
  /** The log of the cluster that this server is one node of; without one it is a cluster alone. */
  readonly sharedLog?: SharedLog | undefined
  /** Where the data lies; by default where the configuration says. */
  readonly openStorage?: () => Promise<EngineSource>
  readonly standIns?: StandIns | undefined
  /** The nodes that there are, or may be, with storage "raft". */
  readonly peers?: Peers | undefined
}

type Optional = 'sharedLog' | 'peers'
/** With what stands in where nothing was given. */
export type CompleteOptions = Required<Omit<ServerOptions, Optional>> & Pick<ServerOptions, Optional>
