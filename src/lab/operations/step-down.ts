import type { ClusterAccess } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { type ClusterOfNodes, findActive } from '../nodes/nodes.js'
import type { Runbook } from './runbook.js'

/** Makes the active node step down, and waits for another. Rejects with LabError `usage` if the cluster has one server. */
export const stepDown = async (runbook: Runbook, cluster: ClusterAccess & ClusterOfNodes): Promise<void> => {
  const { name } = cluster
  if (!cluster.nodes) throw new LabError('usage', `cluster ${name} has one server: no other node can take over`)
  const before = await findActive(cluster)
  if (!before) throw new LabError('remote', `cluster ${name} has no active node`)
  await runbook.call({ cluster: name, method: 'PUT', path: 'sys/step-down', isAuthenticated: true })
  let after = before
  await runbook.wait(`another node of ${name} to be active`, async () => {
    after = (await findActive(cluster)) ?? before
    return after.name === before.name ? `${before.name} is, or none` : undefined
  })
  runbook.say(`node ${after.name} is active, and ${before.name} is a standby`)
}
