import { LabError } from '../model/lab-error.js'
import { planOf } from '../model/topology.js'
import { type ExportedServer, type ExportSource, hasTls, serversOfExport } from './plan.js'

/** Returns the machine of a node if one is given, else the machine of its cluster. */
export const hostOf = (hosts: ReadonlyMap<string, string>, { name, cluster }: ExportedServer): string | undefined =>
  hosts.get(name) ?? hosts.get(cluster)

/** Machine names become directory names, and addresses in the configuration of servers. */
const HOST = /^[A-Za-z0-9][\w.-]*$/

/** Throws LabError `usage` if the export cannot be split over these machines. */
export const refuseHosts = ({ topology }: ExportSource, hosts: ReadonlyMap<string, string>): void => {
  const servers = serversOfExport(topology)
  const known = servers.flatMap(({ name, cluster }) => [name, cluster])
  const strange = [...hosts.keys()].filter((name) => !known.includes(name))
  if (strange.length > 0)
    throw new LabError('usage', `the topology ${topology.name} has no cluster ${strange.join(', ')}`)
  const missing = servers.filter((server) => hostOf(hosts, server) === undefined).map(({ name }) => name)
  if (missing.length > 0) throw new LabError('usage', `--hosts does not say where ${missing.join(', ')} is to run`)
  const withTls = topology.clusters.filter((name) => hasTls(topology, name))
  if (withTls.length > 0)
    throw new LabError(
      'usage',
      `--hosts goes without TLS, which ${withTls.join(', ')} has: the certificates of an export are made where it runs, and no other machine knows them`,
    )
  const isSplit = (cluster: string) =>
    new Set(servers.filter((one) => one.cluster === cluster).map((one) => hostOf(hosts, one))).size > 1
  const sealed = topology.clusters.find((name) => isSplit(name) && planOf(topology, name).seal?.type === 'auto')
  if (sealed !== undefined)
    throw new LabError(
      'usage',
      `--hosts puts the nodes of ${sealed} on several machines, which unseal themselves with one key: the keys of an export are made where it runs, and no other machine knows them`,
    )
  for (const host of hosts.values()) {
    if (!HOST.test(host)) throw new LabError('usage', `"${host}" is not the name or IPv4 address of a machine`)
    if (host === 'localhost' || host.startsWith('127.'))
      throw new LabError(
        'usage',
        `${host} is another machine to each container: give an address that all of them reach`,
      )
  }
}
