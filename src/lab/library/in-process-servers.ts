import { rmSync } from 'node:fs'
import path from 'node:path'
import { type Clock, systemClock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { replaceFile } from '../../base/replace-file.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import {
  createCopyStorage,
  createDirectoryStorage,
  createMemoryStorage,
  type ServerStorage,
} from '../../server/data/server-storage.js'
import { SharedMemory } from '../../server/data/shared-memory.js'
import { makeLabTls, type TlsFiles } from '../../server/dev/dev.js'
import type { Links } from '../links/links.js'
import type { PortPair } from '../model/ports.js'
import { newSealKey } from '../model/seal-key.js'
import { planOf, serversOf, type Topology } from '../model/topology.js'
import { Link } from '../proxy/link.js'
import { InProcessServer } from '../runner/in-process.js'
import { leaseMsOf, settingsOf } from '../runner/server-plan.js'
import type { LabClock } from './lab-clock.js'
import type { InProcessLabOptions } from './options.js'

/** The certificates, seal key and load balancer of one cluster. */
interface ClusterResources {
  readonly tls?: TlsFiles | undefined
  /** The auto-unseal key file. */
  readonly sealKeyFile?: string | undefined
  readonly balancer?: Awaited<ReturnType<typeof openBalancer>> | undefined
}

interface ServersOptions extends Pick<InProcessLabOptions, 'storage' | 'settings' | 'log'> {
  readonly links: Links
  readonly clock: LabClock
}

/** Returns the random source for the secrets of one cluster or server. */
type RandomFor = (name: string) => Random

/** Creates the certificates, seal keys, load balancers and files of a lab. Removes all of them if one fails. */
export const makeLabResources = async (topology: Topology, randomFor: RandomFor) => {
  const known = new Map<string, ClusterResources>()
  let directory: string | undefined
  /** Returns the path of a file that is deleted when the lab is closed. */
  const fileOf = (name: string): string => {
    directory ??= makeTemporaryDirectory('in-process')
    return path.join(directory, name)
  }
  const of = (cluster: string): ClusterResources => known.get(cluster) ?? {}
  const resources = {
    of,
    /** Creates the servers of one cluster in this process, without starting them. */
    serversOf(cluster: string, { storage = 'memory', log, links, clock, ...given }: ServersOptions) {
      const { tls, sealKeyFile, balancer } = of(cluster)
      const names = serversOf(topology, cluster)
      const settings = { ...settingsOf(topology, cluster), ...given.settings }
      const shared =
        names.length > 1 ? new SharedMemory({ clock: systemClock, leaseMs: leaseMsOf(settings) }) : undefined
      const storageOf = (name: string): ServerStorage => {
        if (typeof storage !== 'string') return storage(name)
        const place = storage === 'disk' ? fileOf(name) : undefined
        if (shared) return createCopyStorage(place)
        return place === undefined ? createMemoryStorage() : createDirectoryStorage(place)
      }
      return names.map(
        (name) =>
          new InProcessServer({
            name: cluster,
            node: shared && name,
            tls,
            sealKeyFile,
            balancer: balancer?.ports,
            storage: storageOf(name),
            shared,
            network: links.networkOf(name),
            clock,
            random: randomFor(name),
            settings,
            log,
          }),
      )
    },
    async close() {
      await Promise.all([...known.values()].map(({ balancer }) => balancer?.close()))
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
    },
  }
  try {
    const plans = topology.clusters.map((name) => ({ name, ...planOf(topology, name) }))
    const tls = plans.some((plan) => plan.tls) ? await makeLabTls(fileOf('tls'), systemClock.now()) : undefined
    for (const { name, tls: hasTls, seal, reach } of plans) {
      const random = randomFor(`${name} provisions`)
      const sealKeyFile = seal?.type === 'auto' ? fileOf(`${name}-seal.key`) : undefined
      if (sealKeyFile !== undefined) replaceFile(sealKeyFile, newSealKey(random).toString('hex'))
      const balancer = reach === 'load-balancer' ? await openBalancer(systemClock, random) : undefined
      known.set(name, { tls: hasTls ? tls : undefined, sealKeyFile, balancer })
    }
    return resources
  } catch (error) {
    await resources.close()
    throw error
  }
}

export type LabResources = Awaited<ReturnType<typeof makeLabResources>>

/** Opens a load balancer before the servers, which advertise its ports. The caller must close it. */
const openBalancer = async (clock: Clock, random: Random) => {
  let ports = (): PortPair => ({ api: 0, cluster: 0 })
  const open = (name: keyof PortPair): Promise<Link> => {
    const target = {
      host: '127.0.0.1',
      get port() {
        return ports()[name]
      },
    }
    return Link.open({ target, clock, random })
  }
  const api = await open('api')
  const cluster = await open('cluster').catch(async (error: unknown) => {
    await api.close()
    throw error
  })
  return {
    ports: { api: api.port, cluster: cluster.port },
    /** Sets the function that returns the target ports of each new connection, such as those of the active node. */
    routeTo(choose: () => PortPair) {
      ports = choose
    },
    async close() {
      await Promise.all([api.close(), cluster.close()])
    },
  }
}
