import type { AnyLab, ClusterAccess, LabRecord, ServerRecord } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'

interface Named {
  readonly name: string
}

/** A cluster. Without `nodes`, it has a single server of the same name. */
interface ClusterOfServers extends Named {
  readonly nodes?: readonly Named[] | undefined
}

type LabOf<C> = Pick<AnyLab, 'name'> & { readonly clusters: readonly C[] }

interface ServerOfCluster<C extends ClusterOfServers> {
  readonly cluster: C
  readonly server: NonNullable<C['nodes']>[number]
}

const serversWithCluster = <C extends ClusterOfServers>(clusters: readonly C[]): ServerOfCluster<C>[] =>
  clusters.flatMap((cluster) => (cluster.nodes ?? [cluster]).map((server) => ({ cluster, server })))

/**
 * Returns the servers of these clusters or nodes. Without names, all servers. Throws LabError `usage` for an unknown
 * name.
 */
export const chooseServersOfLab = <C extends ClusterOfServers>(
  lab: LabOf<C>,
  names: readonly string[],
): ServerOfCluster<C>[] => {
  const all = serversWithCluster(lab.clusters)
  if (names.length === 0) return all
  return names.flatMap((name) => {
    const chosen = all.filter(({ cluster, server }) => cluster.name === name || server.name === name)
    return chosen.length > 0 ? chosen : refuse(lab, name)
  })
}

/** Returns the server of this name with its cluster. Throws LabError `usage` if there is none. */
export const findRecords = (lab: LabRecord, name: string) =>
  serversWithCluster(lab.clusters).find(({ server }) => server.name === name) ?? refuse(lab, name)

export const chooseServers = (lab: LabRecord, names: readonly string[]): ServerRecord[] =>
  chooseServersOfLab(lab, names).map(({ server }) => server)

/** Returns the node of this name with its cluster. Undefined if no multi-node cluster has such a node. */
export const findNode = <C extends ClusterOfServers>(
  clusters: readonly C[],
  name: string,
): ServerOfCluster<C> | undefined =>
  serversWithCluster(clusters).find(({ cluster, server }) => cluster.nodes && server.name === name)

/** Returns the node names of a multi-node cluster. Any other name is returned unchanged. */
export const serverNames = (
  { clusters }: { readonly clusters: readonly ClusterOfServers[] },
  name: string,
): readonly string[] => clusters.find((cluster) => cluster.name === name)?.nodes?.map((node) => node.name) ?? [name]

/** Returns the named clusters. Without names, all clusters. Throws LabError `usage` for an unknown name. */
export const chooseClusters = <T extends ClusterAccess>(lab: LabOf<T>, names: readonly string[]): T[] => {
  if (names.length === 0) return [...lab.clusters]
  return names.map((name) => lab.clusters.find((cluster) => cluster.name === name) ?? refuse(lab, name))
}

const refuse = ({ name: lab, clusters }: LabOf<ClusterOfServers>, name: string): never => {
  const nodes = clusters.flatMap((cluster) => cluster.nodes ?? [])
  const known = [...clusters, ...nodes].map((one) => one.name).join(', ')
  throw new LabError(
    'usage',
    `the lab "${lab}" has no cluster ${nodes.length > 0 ? 'and no node ' : ''}"${name}"; it has ${known}`,
  )
}
