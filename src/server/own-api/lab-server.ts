import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { ClusterNode } from '../nodes/cluster-node.js'
import type { Runtime } from '../runtime/runtime.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'
import type { ShellView } from '../parts/parts.js'
import type { ClusterImages } from './cluster-images.js'
import type { LabState } from '../faults/disk-faults.js'
import type { JsonObject } from '../../logical/json.js'

/** The parts of a server that a lab can inspect and change. */
export interface LabServer extends Pick<ShellView, 'status' | 'holds' | 'meter' | 'inFlight'> {
  readonly labState: LabState
  readonly images: ClusterImages
  /** Undefined while it is being replaced. */
  readonly runtime: Runtime | undefined
  /** Undefined for a single-node cluster. */
  readonly node: Pick<ClusterNode, 'id' | 'state' | 'isServing'> | undefined
  readonly host: Pick<RuntimeHost, 'storageGeneration' | 'isPurgePending'>
  /** Executes a request as if it came from the HTTP front. */
  handle(request: IncomingRequest): Promise<Rendered>
  /** Status as server-sent events. */
  readonly feed: { open(): AsyncIterable<Buffer> }
}

/** Describes a node's state with the terms of `server/nodes/SPEC.md`, or `removed`; undefined for a single-node cluster. */
export const describeNode = ({
  node,
  runtime,
  status,
}: Pick<LabServer, 'node' | 'runtime' | 'status'>): JsonObject | undefined =>
  node && {
    id: node.id,
    state: status.isRemoved ? 'removed' : node.state,
    is_active: node.isServing && !status.isRemoved,
    is_performance_standby: status.isPerformanceStandby && !status.isRemoved,
    applied_index: runtime?.appliedIndex ?? 0,
  }
