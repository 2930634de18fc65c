import {
  type AnyLab,
  type ClusterAccess,
  type ClusterRecord,
  type LabRecord,
  type ServerRecord,
  serversIn,
} from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import type { ClusterOfNodes, NodeAccess } from './nodes.js'

interface Named {
  readonly name: string
}

/** A cluster that lists its servers if there are several, or is its own single server. */
type ClusterOf<S> = ClusterAccess & S & { readonly nodes?: readonly S[] | undefined }

/** One server and its cluster. */
interface ServerOfCluster<S, C = ClusterOf<S>> {
  readonly cluster: C
  readonly server: S
}

const serversWithCluster = <S, C extends { readonly nodes?: readonly S[] | undefined } & S>(
  clusters: readonly C[],
): ServerOfCluster<S, C>[] =>
  clusters.flatMap((cluster) => serversIn<S>(cluster).map((server) => ({ cluster, server })))

/** Returns the servers of the named clusters, or the named nodes. Without names, all. LabError `usage` for an unknown name. */
export const chooseServersOfLab = <S extends Named, C extends ClusterOf<S> = ClusterOf<S>>(
  lab: Pick<AnyLab, 'name'> & { readonly clusters: readonly C[] },
  names: readonly string[],
): ServerOfCluster<S, C>[] => {
  const all = serversWithCluster<S, C>(lab.clusters)
  if (names.length === 0) return all
  return names.flatMap((name) => {
    const chosen = all.filter(({ cluster, server }) => cluster.name === name || server.name === name)
    return chosen.length > 0 ? chosen : refuse(lab, name)
  })
}

/** Returns the server of this name with its cluster. */
export const findRecords = (lab: LabRecord, name: string): ServerOfCluster<ServerRecord, ClusterRecord> => {
  const places = serversWithCluster<ServerRecord, ClusterRecord>(lab.clusters)
  return places.find(({ server }) => server.name === name) ?? refuse(lab, name)
}

export const chooseServers = (lab: LabRecord, names: readonly string[]): ServerRecord[] =>
  chooseServersOfLab<ServerRecord>(lab, names).map(({ server }) => server)

/** Returns the node of this name in a multi-node cluster. */
export const findNode = (
  clusters: readonly ClusterOfNodes[],
  name: string,
): ServerOfCluster<NodeAccess, ClusterOfNodes> | undefined =>
  clusters
    .flatMap((cluster) => (cluster.nodes ?? []).map((server) => ({ cluster, server })))
    .find(({ server }) => server.name === name)

/** Returns the node names of a multi-node cluster. Any other name is returned unchanged. */
export const serverNames = ({ clusters }: LabRecord, name: string): readonly string[] =>
  clusters.find((cluster) => cluster.name === name)?.nodes?.map((node) => node.name) ?? [name]

export const chooseClusters = <T extends ClusterAccess>(
  lab: Pick<AnyLab, 'name'> & { readonly clusters: readonly T[] },
  names: readonly string[],
): T[] => {
  if (names.length === 0) return [...lab.clusters]
  return names.map((name) => lab.clusters.find((cluster) => cluster.name === name) ?? refuse(lab, name))
}

interface MaybeOfNodes extends Named {
  readonly nodes?: readonly Named[] | undefined
}

const refuse = (
  { name: lab, clusters }: Named & { readonly clusters: readonly MaybeOfNodes[] },
  name: string,
): never => {
  const nodes = clusters.flatMap((cluster) => cluster.nodes ?? [])
  const known = [...clusters, ...nodes].map((one) => one.name).join(', ')
  throw new LabError(
    'usage',
    `the lab "${lab}" has no cluster ${nodes.length > 0 ? 'and no node ' : ''}"${name}"; it has ${known}`,
  )
}
