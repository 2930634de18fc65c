import type { ServerConfig } from '../../server/config/config.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { LabError } from '../model/lab-error.js'
import { planOf, type Topology } from '../model/topology.js'
import type { LabSettings } from '../model/settings.js'
import { configOf } from '../runner/server-plan.js'

const PORT_BASE = 8200
const PORTS_PER_CLUSTER = 10

/**
 * Returns the names and configurations of `count` servers of a cluster. `index` determines their simulated addresses.
 */
export const simulatedServersOf = (cluster: string, index: number, count: number, settings: LabSettings) =>
  Array.from({ length: count }, (_, at) => {
    const node = count > 1 ? `${cluster}${at + 1}` : undefined
    const api = PORT_BASE + index * PORTS_PER_CLUSTER + at * 2
    const plan = { name: cluster, node, settings }
    return { name: node ?? cluster, config: readConfig(plan, { api, cluster: api + 1 }) }
  })

const readConfig = (plan: Parameters<typeof configOf>[0], ports: Parameters<typeof configOf>[1]): ServerConfig => {
  // A client may read from any node, so performance standbys are off: their data may be stale.
  const text = JSON.stringify({ ...configOf(plan, ports), disable_performance_standby: true })
  const env = { VAULT_LOCAL_CONFIG: text, VAULT_RAFT_NODE_ID: plan.node ?? plan.name }
  const { config, problems } = loadServerConfig([], env)
  if (!config) throw new LabError('usage', problems.map((problem) => problem.text).join('; '))
  return config
}

/** Throws LabError `usage` for a topology that requires sockets or files. */
export const requireSimulable = (topology: Topology): void => {
  if (topology.links.some(({ jitterMs = 0 }) => jitterMs > 0))
    throw new LabError(
      'usage',
      `a link of the topology ${topology.name} has jitterMs, which simulated labs do not support`,
    )
  for (const cluster of topology.clusters) {
    const { tls, seal, reach = 'direct', ports, storage } = planOf(topology, cluster)
    const found = [
      tls && 'TLS',
      seal?.type === 'auto' && 'auto-unseal',
      reach !== 'direct' && `reach "${reach}"`,
      ports && 'ports',
      storage && `storage "${storage}"`,
    ].find((one) => typeof one === 'string')
    if (found !== undefined)
      throw new LabError(
        'usage',
        `cluster ${cluster} of the topology ${topology.name} has ${found}, which simulated labs do not support`,
      )
  }
}
