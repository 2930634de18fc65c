import { messageOf } from '../../base/printable.js'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import {
  type AttachedCluster,
  type AttachedLab,
  type AttachedServer,
  type ClusterAccess,
  describeServer,
  serversIn,
  withAnonymousClient,
} from '../model/cluster.js'
import type { LabDaemonAccess } from '../model/daemon-record.js'
import { LabError } from '../model/lab-error.js'
import { claimLab } from '../processes/claim.js'
import { findLab, labDirectory, removeLab, saveLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import type { KnownCluster, KnownKeys } from '../keys/keys-file.js'

/**
 * Parses arguments such as `A=http://host:8200`, and returns the addresses by the name of the cluster or node. Throws
 * LabError `usage` for other texts and for a repeated name.
 */
export const parseAddresses = (given: readonly string[]): Map<string, string> => {
  const addresses = new Map<string, string>()
  for (const text of given) {
    const [, name = '', address = ''] = /^([A-Z]\d?)=(https?:\/\/[^/].*)$/.exec(text) ?? []
    if (name === '' || !URL.canParse(address))
      throw new LabError('usage', `"${text}" is not of the form A=http://host:8200`)
    if (addresses.has(name)) throw new LabError('usage', `${describeServer(name)} is specified twice`)
    addresses.set(name, address.replace(/\/+$/, ''))
  }
  return addresses
}

/**
 * Groups server names by cluster, with the nodes in order. Throws LabError `usage` if a cluster has only one node, or
 * if it has nodes and also a server with the name of the cluster.
 */
export const groupServers = (names: Iterable<string>): Map<string, readonly string[]> => {
  const groups = new Map<string, string[]>()
  for (const name of [...names].sort()) {
    const letter = name.slice(0, 1)
    groups.set(letter, [...(groups.get(letter) ?? []), name])
  }
  for (const [letter, [first = '', ...others]] of groups) {
    const isAlone = others.length === 0
    if (isAlone === (first === letter)) continue
    const text = isAlone
      ? `cluster ${letter} has one server: name it ${letter}`
      : `${letter} is specified in addition to ${others.join(', ')}`
    throw new LabError('usage', `${text}; name the nodes of a cluster ${letter}1, ${letter}2 and so on`)
  }
  return groups
}

/** Returns the name and the API address of each server of a cluster. Empty if the address is unknown. */
export const addressesOfServers = ({ name, apiAddress, nodes }: Servers): (readonly [string, string])[] => {
  if (nodes) return nodes.map((node) => [node.name, node.apiAddress])
  return apiAddress === undefined || apiAddress === '' ? [] : [[name, apiAddress]]
}

type Servers = Pick<AttachedCluster, 'name' | 'nodes'> & { readonly apiAddress?: string | undefined }

interface AttachOptions {
  readonly name: string
  readonly topology?: string | undefined
  readonly clusters: readonly AttachedCluster[]
  /** The lab daemon of the links between them. */
  readonly keeper?: LabDaemonAccess | undefined
  /** CA certificate that verifies the servers, PEM. The lab stores a copy. */
  readonly caPem?: string | undefined
  readonly onWarning: (text: string) => void
}

const TIMEOUT_MS = 3000

/**
 * Registers externally managed servers as a lab. Sends only read requests to the servers, and warns about servers that
 * do not respond. Rejects with LabError `conflict` if a lab of this name exists.
 */
export const attachLab = async (options: AttachOptions, host: LabHost): Promise<AttachedLab> => {
  const { name, topology = 'attached', keeper } = options
  using _claim = claimLab(name, 'changed', host)
  try {
    refuseWhenThere(name)
    removeLab(name)
    const caFile = keepAuthority(options)
    const clusters = options.clusters.map((cluster) => withAuthority(cluster, caFile))
    const servers = clusters.flatMap((cluster) =>
      serversIn<AttachedServer>(cluster).map((server) => ({ ...cluster, ...server })),
    )
    await Promise.all(servers.map((server) => check(server, options.onWarning)))
    const lab: AttachedLab = {
      apiVersion: 'understudy/v1',
      name,
      state: 'attached',
      topology,
      createdAt: new Date(host.clock.now()).toISOString(),
      directory: labDirectory(name),
      clusters,
      ...(keeper && { keeper }),
    }
    saveLab(lab)
    return lab
  } catch (error) {
    if (!findLab(name)) removeLab(name)
    throw error
  }
}

/**
 * Throws LabError `conflict` if a lab of this name exists. Commands with long preparations call this before
 * `attachLab`.
 */
export const refuseWhenThere = (name: string): void => {
  const lab = findLab(name)
  if (!lab || lab.state === 'failed') return
  const end = lab.state === 'attached' ? 'unregisters' : 'stops'
  throw new LabError('conflict', `the lab "${name}" already exists; "understudy down ${name}" ${end} it`)
}

/** Stores the CA certificate. It is not secret, and is removed with the record of the lab. */
const keepAuthority = ({ name, caPem }: AttachOptions): string | undefined => {
  if (caPem === undefined) return undefined
  const file = path.join(labDirectory(name), 'ca.pem')
  replaceFile(file, caPem)
  return file
}

const withAuthority = <C extends ClusterAccess>(cluster: C, caFile: string | undefined): C =>
  caFile !== undefined && cluster.apiAddress.startsWith('https:') ? { ...cluster, caFile } : cluster

/**
 * Returns the clusters of the servers at these addresses, with their keys. Throws LabError `usage` if there are no
 * addresses, or if a cluster of the keys file has no address, for example because of a misspelled name.
 */
export const clustersAt = (
  addresses: ReadonlyMap<string, string>,
  keys: KnownKeys,
  { containers, caFile }: { readonly containers: ReadonlyMap<string, string>; readonly caFile: string | undefined },
): AttachedCluster[] => {
  if (addresses.size === 0)
    throw new LabError(
      'usage',
      'specify the address of each cluster, such as A=http://127.0.0.1:8200, or --compose DIRECTORY',
    )
  const groups = groupServers(addresses.keys())
  const unknown = [...keys.clusters.keys()].filter((letter) => !groups.has(letter))
  if (unknown.length > 0)
    throw new LabError(
      'usage',
      `the keys file contains keys of ${unknown.join(', ')}, but the address is missing: add ${unknown[0]}=URL`,
    )
  return [...groups].map(([letter, names]) => {
    const servers = names.map((name) => {
      const container = containers.get(name)
      return { name, apiAddress: addresses.get(name) ?? '', ...(container === undefined ? {} : { container }) }
    })
    return clusterOf(letter, servers, keys.clusters.get(letter), caFile)
  })
}

/** Returns a cluster with these servers. `known`: the keys of the cluster, and its address if `servers` is empty. */
export const clusterOf = (
  name: string,
  servers: readonly AttachedServer[],
  known: Partial<KnownCluster> = {},
  caFile?: string,
): AttachedCluster => {
  const [{ apiAddress, container } = { apiAddress: known.apiAddress ?? '' }] = servers
  const nodes = servers.length > 1 ? { nodes: servers } : {}
  const keys = { rootToken: '', unsealKeys: [], threshold: 0, ...known }
  return withAuthority(
    { ...keys, name, apiAddress, ...nodes, ...(container === undefined ? {} : { container }) },
    caFile,
  )
}

const check = async (server: ClusterAccess, onWarning: (text: string) => void): Promise<void> => {
  try {
    const { json } = await withAnonymousClient(server, (client) => client.send('GET', 'sys/health'), TIMEOUT_MS)
    if (json && 'initialized' in json) return
  } catch (error) {
    const name = describeServer(server.name)
    onWarning(`warning: ${name} does not respond (${messageOf(error)}), but was registered`)
    return
  }
  throw new LabError('remote', `${server.apiAddress} does not serve the Vault HTTP API: check the address`)
}
