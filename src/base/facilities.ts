import type { Clock } from './clock.js'
import type { Log } from './log.js'
import type { Network } from './network.js'
import type { Random } from './random.js'

/** The facilities of the system, which every part of a server gets injected. */
export interface Facilities {
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly log: Log
}
