import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { ClusterNode } from '../nodes/cluster-node.js'
import type { Runtime } from '../runtime/runtime.js'
import type { ShellView } from '../parts/shell-view.js'
import type { ClusterImages } from './cluster-images.js'
import type { LabState } from '../faults/lab-state.js'

/** The parts of a server that a lab can inspect and change. */
export interface LabServer extends Pick<ShellView, 'status' | 'holds' | 'meter' | 'inFlight'> {
  readonly labState: LabState
  readonly images: ClusterImages
  /** Undefined while it is being replaced. */
  readonly runtime: Runtime | undefined
  /** Undefined for a single-node cluster. */
  readonly node: Pick<ClusterNode, 'id' | 'state' | 'isServing'> | undefined
  readonly storageGeneration: number
  readonly isPurgePending: boolean
  /** Executes a request as if it came from the HTTP front. */
  handle(request: IncomingRequest): Promise<Rendered>
  /** Status as server-sent events. */
  readonly feed: { open(): AsyncIterable<Buffer> }
}
