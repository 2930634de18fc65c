import type { JsonObject } from '../../logical/json.js'
import type { LabServer } from './lab-server.js'

/** The place of one of several nodes, in the words of `server/nodes/SPEC.md`, or `removed` from its cluster; undefined for a cluster alone. */
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
