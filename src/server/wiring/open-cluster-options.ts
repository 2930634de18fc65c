import type { Facilities } from '../../base/facilities.js'
import type { PathSpec } from '../../logical/backend.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import type { ServerConfig } from '../config/config.js'
import type { NodeSeat } from '../parts/node-seat.js'
import type { RuntimeChanges } from '../parts/runtime-changes.js'
import type { RuntimeParts } from '../parts/runtime-parts.js'
import type { ShellView } from '../parts/shell-view.js'

export interface OpenClusterOptions extends Facilities {
  readonly config: ServerConfig
  readonly runtime: RuntimeParts
  readonly source: EngineSource
  readonly shell: ShellView
  readonly changes: RuntimeChanges
  /** The membership in a multi-node cluster; undefined for a single-node cluster. */
  readonly seat: NodeSeat | undefined
  /** True if opened on a standby, read-only over a copy that follows the log. */
  readonly isStandby: boolean
  /** The paths that exist in every state. */
  readonly statePaths: readonly PathSpec[]
}
