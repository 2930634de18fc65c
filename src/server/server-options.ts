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
  /** The shared log of a multi-node cluster; absent for a single-node cluster. */
  readonly sharedLog?: SharedLog | undefined
  /** Opens the data. Default: the configured storage. */
  readonly openStorage?: () => Promise<EngineSource>
  readonly standIns?: StandIns | undefined
  /** Node management for storage "raft". */
  readonly peers?: Peers | undefined
}

type Optional = 'sharedLog' | 'peers'
/** The options, with defaults applied. */
export type CompleteOptions = Required<Omit<ServerOptions, Optional>> & Pick<ServerOptions, Optional>
