import {
  type AnyLab,
  type ClusterAccess,
  type LabRecord,
  type ServerRecord,
  serversIn,
  serversOfLab,
} from '../cluster.js'
import { LabError } from '../lab-error.js'

/** The servers of clusters that are named, or nodes by their own names. */
export const chooseServers = (lab: LabRecord, names: readonly string[]): ServerRecord[] => {
  const nodes = serversOfLab(lab)
  return (names.length === 0 ? lab.clusters.map((cluster) => cluster.name) : names).flatMap((name) => {
    const node = nodes.find((one) => one.name === name)
    return node ? [node] : chooseClusters(lab, [name]).flatMap(serversIn)
  })
}

/** The nodes of a cluster that has several; any other name as it is. */
export const serverNames = ({ clusters }: LabRecord, name: string): readonly string[] =>
  clusters.find((cluster) => cluster.name === name)?.nodes?.map((node) => node.name) ?? [name]

export const chooseClusters = <T extends ClusterAccess>(
  lab: Pick<AnyLab, 'name'> & { readonly clusters: readonly T[] },
  names: readonly string[],
): T[] => {
  if (names.length === 0) return [...lab.clusters]
  return names.map((name) => {
    const found = lab.clusters.find((cluster) => cluster.name === name)
    if (found) return found
    throw new LabError(
      'usage',
      `the lab "${lab.name}" has no cluster "${name}"; it has ${lab.clusters.map((one) => one.name).join(', ')}`,
    )
  })
}
