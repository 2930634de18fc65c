import { LabError } from '../model/lab-error.js'
import { type LabSettings, requireKeys, requireSettings } from '../model/settings.js'
import { NODE_COUNTS, type NodeCount, planOf, type Topology } from '../model/topology.js'

/**
 * Options of a simulated lab: its clusters use a simulated network, disk and clock, and need no ports, files or real time. The
 * same seed and the same calls produce the same history.
 *
 * @example
 * import { type SimulatedLabOptions, startLab } from 'understudy-lab'
 *
 * const options: SimulatedLabOptions = { simulated: true, seed: 42, nodes: 3 }
 * await using lab = await startLab('dr', options)
 */
export interface SimulatedLabOptions {
  readonly simulated: true
  /** Determines identifiers, keys and delays. Default: 1. */
  readonly seed?: number | string | undefined
  /** Number of servers per cluster, one of them active: 1, 3 or 5. Default: as in the topology, or 1. */
  readonly nodes?: NodeCount | undefined
  /** Settings of the stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings | undefined
  /** Number of key shares of each cluster, and the unseal threshold. Default: 1. */
  readonly shares?: number | undefined
  readonly threshold?: number | undefined
  /** Timeout of each wait in virtual milliseconds. Default: 120 000. */
  readonly timeoutMs?: number | undefined
}

const KNOWN: { readonly [Name in keyof SimulatedLabOptions]-?: true } = {
  simulated: true,
  seed: true,
  nodes: true,
  settings: true,
  shares: true,
  threshold: true,
  timeoutMs: true,
}

/** Options of other labs, and why a simulated lab does not support them. */
const WITHOUT: Readonly<Record<string, string>> = {
  storage: 'its disks are simulated',
  log: 'its servers log nothing',
}

/** Throws LabError `usage` for unknown or invalid options. */
export const requireSimulatedOptions = (options: SimulatedLabOptions): void => {
  for (const [name, why] of Object.entries(WITHOUT))
    if (Object.hasOwn(options, name)) throw new LabError('usage', `a simulated lab takes no option "${name}": ${why}`)
  requireKeys('option of a simulated lab', options, Object.keys(KNOWN))
  const { seed = 1, nodes, timeoutMs, settings = {} } = options
  if (!(typeof seed === 'string' ? seed !== '' : Number.isFinite(seed)))
    throw new LabError('usage', `seed is a number or a text, not ${seed === '' ? 'an empty one' : String(seed)}`)
  if (nodes !== undefined && !NODE_COUNTS.includes(nodes))
    throw new LabError('usage', `nodes is ${NODE_COUNTS.join(', ')}, not ${nodes}`)
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new LabError('usage', `timeoutMs is a number of virtual milliseconds above 0, not ${timeoutMs}`)
  requireSettings(settings)
}

/** Throws LabError `usage` for a topology that requires sockets or files. */
export const requireSimulable = (topology: Topology): void => {
  if (topology.links.some(({ jitterMs = 0 }) => jitterMs > 0))
    throw new LabError('usage', `a link of the topology ${topology.name} has jitterMs, which no simulated lab has`)
  for (const cluster of topology.clusters) {
    const { tls, seal, reach = 'direct', ports, storage } = planOf(topology, cluster)
    const found = [
      tls && 'TLS',
      seal?.type === 'auto' && 'a seal that opens by itself',
      reach !== 'direct' && `reach "${reach}"`,
      ports && 'ports',
      storage && `storage "${storage}"`,
    ].find((one) => typeof one === 'string')
    if (found !== undefined)
      throw new LabError(
        'usage',
        `cluster ${cluster} of the topology ${topology.name} has ${found}, which no simulated lab has`,
      )
  }
}
