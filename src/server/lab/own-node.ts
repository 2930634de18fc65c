import type { JsonObject } from '../../logical/json.js'
import type { LabServer } from './lab-server.js'

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
