import path from 'node:path'
import { systemClock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import type { Links } from '../links/links.js'
import type { InProcessServer } from '../runner/in-process.js'
import { planOf, serversOf, type Topology } from '../model/topology.js'
import type { LabClock } from './lab-clock.js'
import type { InProcessLabOptions } from './options.js'
import { leaseMsOf, settingsOf } from './plan-settings.js'
import type { Provisions } from './provisions.js'

type ServerParts = typeof import('./server-parts.js')

/** The components that exist before the first server. */
export interface Foundation {
  readonly parts: ServerParts
  readonly provisions: Provisions
  readonly randomFor: (name: string) => Random
}

interface Around extends Foundation {
  readonly links: Links
  readonly clock: LabClock
}

/** Creates the servers of one cluster in this process, without starting them. */
export const createServers = (
  topology: Topology,
  cluster: string,
  options: Pick<InProcessLabOptions, 'storage' | 'settings' | 'log'>,
  { parts, provisions, randomFor, links, clock }: Around,
): readonly InProcessServer[] => {
  const { storage = 'memory', log } = options
  const { tls, sealKeyFile, balancer } = provisions.of(cluster)
  const names = serversOf(topology, cluster)
  const settings = { ...settingsOf(planOf(topology, cluster)), ...options.settings }
  const shared =
    names.length > 1 ? new parts.SharedMemory({ clock: systemClock, leaseMs: leaseMsOf(settings) }) : undefined
  const storageOf = (name: string): ServerStorage => {
    if (typeof storage !== 'string') return storage(name)
    const place = storage === 'disk' ? path.join(provisions.directory(), name) : undefined
    if (shared) return parts.createCopyStorage(place)
    return place === undefined ? parts.createMemoryStorage() : parts.createDirectoryStorage(place)
  }
  return names.map(
    (name) =>
      new parts.InProcessServer({
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
}
