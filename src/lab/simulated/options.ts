import { LabError } from '../model/lab-error.js'
import { type LabSettings, requireKeys, requireSettings } from '../model/settings.js'
import { NODE_COUNTS, type NodeCount, planOf, type Topology } from '../model/topology.js'

/**
 * How a simulated lab is started: its clusters are on a simulated network, disk and clock, and need no port, no file and no
 * real time. The same seed and the same calls have the same history each time.
 *
 * @example
 * import { type SimulatedLabOptions, startLab } from 'understudy-lab'
 *
 * const options: SimulatedLabOptions = { simulated: true, seed: 42, nodes: 3 }
 * await using lab = await startLab('dr', options)
 */
export interface SimulatedLabOptions {
  readonly simulated: true
  /** Of it follow identifiers, keys, and what takes how long; 1 by default. */
  readonly seed?: number | string | undefined
  /** Servers of each cluster, one of which is active: 1, 3 or 5; as the topology says by default, which is 1. */
  readonly nodes?: NodeCount | undefined
  /** Settings of the stanza `understudy`, for all clusters. */
  readonly settings?: LabSettings | undefined
  /** Key shares of each cluster, and how many of them open it; 1 by default. */
  readonly shares?: number | undefined
  readonly threshold?: number | undefined
  /** Bound on each wait in virtual milliseconds; 120 000 by default. */
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

/** Of other labs, and why a simulated one has it not. */
const WITHOUT: Readonly<Record<string, string>> = {
  storage: 'its disks are simulated',
  log: 'its servers log nothing',
}

/** Throws LabError `usage` for what is not known or cannot be. */
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

/** Throws LabError `usage` for a topology with something that needs sockets or files. */
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
