import { type AttachedCluster, describeServer } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'

/** Parses `A=http://host:8200 B1=... B2=...`: the address of each cluster or node by its name. */
export const parseAddresses = (given: readonly string[]): Map<string, string> => {
  const addresses = new Map<string, string>()
  for (const text of given) {
    const [, name = '', address = ''] = /^([A-Z]\d?)=(https?:\/\/[^/].*)$/.exec(text) ?? []
    if (name === '' || !URL.canParse(address))
      throw new LabError('usage', `"${text}" is not of the form A=http://host:8200`)
    if (addresses.has(name)) throw new LabError('usage', `${describeServer(name)} is given twice`)
    addresses.set(name, address.replace(/\/+$/, ''))
  }
  return addresses
}

/** Returns the letter of the cluster of a server, given the server's name. */
export const clusterOfServer = (name: string): string => name.slice(0, 1)

/**
 * Groups server names by cluster, with the nodes in order. Throws LabError `usage` if a cluster has a server with the cluster's
 * name beside nodes, or only one node.
 */
export const groupServers = (names: Iterable<string>): Map<string, readonly string[]> => {
  const groups = new Map<string, string[]>()
  for (const name of [...names].sort()) {
    const letter = clusterOfServer(name)
    groups.set(letter, [...(groups.get(letter) ?? []), name])
  }
  for (const [letter, [first = '', ...others]] of groups) {
    const isAlone = others.length === 0
    if (isAlone === (first === letter)) continue
    const text = isAlone
      ? `${letter} has one server: call it ${letter}`
      : `${letter} is given beside ${others.join(', ')}`
    throw new LabError('usage', `${text}; nodes of a cluster are ${letter}1, ${letter}2 and so on`)
  }
  return groups
}

/** Returns the addresses of a cluster's servers by name, from the record of the cluster. */
export const addressesOfServers = ({ name, apiAddress, nodes }: Servers): (readonly [string, string])[] => {
  if (nodes) return nodes.map((node) => [node.name, node.apiAddress])
  return apiAddress === undefined || apiAddress === '' ? [] : [[name, apiAddress]]
}

type Servers = Pick<AttachedCluster, 'name' | 'nodes'> & { readonly apiAddress?: string | undefined }
