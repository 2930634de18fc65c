import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { randomBySeed } from '../../base/random.js'
import { labTlsFiles, makeLabTls } from '../../server/dev/dev.js'
import { type ClusterRecord, type LabRecord, type ServerRecord, serversIn, serversOfLab } from '../model/cluster.js'
import { etcdAddress } from '../daemon/lab-etcd.js'
import { dialRoutesOf, hiddenRoutesOf, isRouteOf, NOWHERE } from '../model/routes.js'
import { configOf, type ServerPlan, settingsOf } from '../runner/server-plan.js'
import { newSealKey } from '../model/seal-key.js'
import { makeDirectories } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { hostOf, type LabPlan, reachesOf, tlsDirectory } from './plan.js'

/** Writes all files that the servers of a lab read: configuration, certificates and seal keys. */
export const writeFiles = async (
  lab: LabRecord,
  { topology, settings, logLevel, apiHost, image }: LabPlan,
  host: LabHost,
): Promise<void> => {
  const randomFor = randomBySeed(lab.seed)
  if (lab.clusters.some(({ caFile }) => caFile)) await makeLabTls(tlsDirectory(lab.directory), host.clock.now())
  const reaches = reachesOf(lab.clusters, topology)
  for (const cluster of lab.clusters) {
    const sealKey = image?.manifest.clusters.find((one) => one.name === cluster.name)?.sealKey
    if (cluster.sealKeyFile !== undefined)
      writeKey(cluster.sealKeyFile, sealKey ?? newSealKey(randomFor(`${cluster.name} provisions`)).toString('hex'))
    for (const server of serversIn(cluster)) {
      makeDirectories(path.dirname(server.configFile))
      makeDirectories(path.dirname(server.dataDir))
      const { name, balancer, sealKeyFile, caFile, labApiToken, nodes } = cluster
      const plan: ServerPlan = {
        name,
        node: nodes && server.name,
        ...sharedBy(lab, cluster, server),
        apiHost,
        ...(balancer ? { advertised: hostOf(balancer.cluster), advertisedApi: hostOf(balancer.api) } : {}),
        tls: caFile === undefined ? undefined : labTlsFiles(tlsDirectory(lab.directory)),
        sealKeyFile,
        settings: {
          ...settings,
          ...settingsOf(topology, name),
          ...(labApiToken === undefined ? {} : { lab_api_token: labApiToken }),
        },
        logLevel,
        dialRoutes: [
          ...formerRoutesOf(lab, cluster, server.name),
          ...dialRoutesOf(lab.keeper.routes, server.name),
          ...hiddenRoutesOf(reaches, server.name),
        ],
      }
      replaceFile(server.configFile, JSON.stringify(configOf(plan, server.ports, server.dataDir), undefined, 2))
    }
  }
}

/**
 * Returns the storage of a node: the etcd that nodes share, or the addresses of its peers. Empty for a single server.
 */
const sharedBy = (
  { etcd }: LabRecord,
  { nodes, caFile }: ClusterRecord,
  { etcdPort }: ServerRecord,
): Pick<ServerPlan, 'etcd' | 'peers'> => {
  if (!nodes) return {}
  if (etcdPort === undefined) return { etcd: etcd && etcdAddress(etcd) }
  return { peers: { apiAddresses: nodes.map(({ apiAddress }) => apiAddress), caFile, etcdAddress: hostOf(etcdPort) } }
}

/**
 * Returns routes from the addresses that servers had in the snapshot to the current addresses. `from`: the dialing
 * server.
 */
const formerRoutesOf = ({ clusters, keeper }: LabRecord, { name: own }: ClusterRecord, from: string): string[] =>
  serversOfLab({ clusters: clusters.filter(({ name }) => name !== own) }).flatMap(({ name, formerly }) => {
    if (!formerly) return []
    const [api, cluster] = keeper.routes.filter(
      (route) => isRouteOf(route, from) && (route.toNode ?? route.to) === name,
    )
    const lead = (addresses: readonly string[], to: string) => addresses.map((address) => `${address}=${to}`)
    return [
      ...lead(formerly.api, hostOf(api?.port ?? 0)),
      ...lead(formerly.cluster, hostOf(cluster?.port ?? 0)),
      ...lead(formerly.hidden, NOWHERE),
    ]
  })

const writeKey = (file: string, text: string): void => {
  makeDirectory(path.dirname(file), 0o700)
  replaceFile(file, text)
}
