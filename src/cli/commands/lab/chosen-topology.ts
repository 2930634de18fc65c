import { LabError } from '../../../lab/model/lab-error.js'
import {
  type ClusterPlan,
  NODE_COUNTS,
  type NodeCount,
  type NodeStorage,
  planOf,
  serversOf,
  type Topology,
  withNodes,
} from '../../../lab/model/topology.js'
import { readTopologyFile, requireTopology } from '../../../lab/topology/catalogue.js'
import { parseShamir } from './options.js'

/** The flags of `up` that define the topology. */
interface TopologyFlags {
  readonly file?: string
  readonly shamir?: string
  readonly seal?: 'shamir' | 'auto'
  readonly tls?: true
  readonly nodes?: string
  readonly storage?: NodeStorage
}

/** Returns the named topology, or that of a file, changed by the flags. Throws `LabError` `usage` if it is invalid. */
export const chosenTopology = (name: string | undefined, flags: TopologyFlags): Topology =>
  withFlags(chooseTopology(name, flags.file), flags)

const chooseTopology = (name: string | undefined, file: string | undefined): Topology => {
  if (name !== undefined && file !== undefined) throw new LabError('usage', 'give a topology or a --file, not both')
  return file === undefined ? requireTopology(name ?? '') : readTopologyFile(file)
}

/** Applies flags to all clusters. They take precedence over the topology's settings. */
const withFlags = (given: Topology, { shamir, seal, tls, nodes, storage }: TopologyFlags): Topology => {
  const topology = nodes === undefined ? given : withNodes(given, parseNodes(nodes))
  if (storage && topology.clusters.every((name) => serversOf(topology, name).length === 1))
    throw new LabError('usage', '--storage is of clusters with several nodes: say --nodes as well')
  const shares = shamir === undefined ? undefined : parseShamir(shamir)
  const change = (plan: ClusterPlan): ClusterPlan => {
    const { type = 'shamir', ...rest } = plan.seal ?? { shares: 1, threshold: 1 }
    return {
      ...plan,
      ...(tls ? { tls } : {}),
      ...(storage ? { storage } : {}),
      seal: { ...rest, ...shares, type: seal ?? type },
    }
  }
  return {
    ...topology,
    plans: Object.fromEntries(topology.clusters.map((name) => [name, change(planOf(topology, name))])),
  }
}

const parseNodes = (text: string): NodeCount => {
  const count = NODE_COUNTS.find((one) => String(one) === text)
  if (count !== undefined) return count
  throw new LabError('usage', `--nodes is ${NODE_COUNTS.join(', ')}, not "${text}"`)
}
