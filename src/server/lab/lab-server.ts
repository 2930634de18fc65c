import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { ClusterNode } from '../nodes/cluster-node.js'
import type { Runtime } from '../runtime/runtime.js'
import type { ShellView } from '../parts/shell-view.js'
import type { ClusterImages } from './cluster-images.js'
import type { LabState } from '../faults/lab-state.js'

/** A server, as far as a lab may look into it and change it. */
export interface LabServer extends Pick<ShellView, 'status' | 'holds' | 'meter' | 'inFlight'> {
  readonly labState: LabState
  readonly images: ClusterImages
  /** Undefined while it is being replaced. */
  readonly runtime: Runtime | undefined
  /** Undefined where it is a cluster alone. */
  readonly node: Pick<ClusterNode, 'id' | 'state' | 'isServing'> | undefined
  readonly storageGeneration: number
  readonly isPurgePending: boolean
  /** Answers a request as its HTTP front would have it answered. */
  handle(request: IncomingRequest): Promise<Rendered>
  /** How it is, as server-sent events. */
  readonly feed: { open(): AsyncIterable<Buffer> }
}
