import type { Clock } from './clock.js'
import type { Log } from './log.js'
import type { Network } from './network.js'
import type { Random } from './random.js'

/** The services of the system, which every part of a server receives from its caller. */
export interface Facilities {
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly log: Log
}
