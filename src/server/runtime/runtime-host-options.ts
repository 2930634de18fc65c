import type { Facilities } from '../../base/facilities.js'
import type { ServerConfig } from '../config/config.js'
import type { ServerStatus } from './server-status.js'
import type { InFlightRequests } from './in-flight.js'
import type { NodeSeat } from '../parts/node-seat.js'
import type { ShellView } from '../parts/shell-view.js'

export interface RuntimeHostOptions extends Facilities {
  readonly config: ServerConfig
  readonly status: ServerStatus
  /** The part of the process that outlives the runtimes. */
  readonly shell: ShellView
  readonly inFlight: Pick<InFlightRequests, 'settle'>
  /** Returns the membership in a multi-node cluster; undefined for a single-node cluster. */
  readonly seat: () => NodeSeat | undefined
}
