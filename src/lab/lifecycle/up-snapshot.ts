import type { LabRecord } from '../model/cluster.js'
import { labDirectory } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { upLab, type UpOptions } from './up.js'
import { isFree, type PortPair, randomPorts } from '../model/ports.js'
import type { Topology } from '../model/topology.js'
import { formerPortsOf, imagedServers, type LabImage, type Manifest } from '../snapshot/manifest.js'
import { withSnapshot } from '../snapshot/take-image.js'

interface UpSnapshotOptions
  extends Pick<
    UpOptions,
    'name' | 'timeoutMs' | 'dataDir' | 'signal' | 'forceSignal' | 'isForeground' | 'isInProcess'
  > {
  /**
   * Random ports must be outside `former`, the ports in the snapshot. Default: the previous ports of the lab, or random
   * ports if any of them is taken.
   */
  readonly portChoice?: ((topology: Topology, former: ReadonlySet<number>) => UpOptions['choosePorts']) | undefined
}

/** Starts a lab in the state of a saved snapshot. Validates the complete file before it starts a server. */
export const upSnapshot = async (nameOrFile: string, options: UpSnapshotOptions, host: LabHost): Promise<LabRecord> => {
  labDirectory(options.name)
  return withSnapshot(nameOrFile, host, (image) => upImage(image, options, host))
}

export const upImage = (image: LabImage, options: UpSnapshotOptions, host: LabHost): Promise<LabRecord> => {
  const { topology } = image.manifest
  const given: UpOptions = {
    ...options,
    topology,
    shares: 1,
    threshold: 1,
    settings: {},
    clock: host.clock,
    choosePorts:
      options.portChoice?.(topology, formerPortsOf(imagedServers(image.manifest.clusters))) ??
      (() => savedPorts(image.manifest)),
    image,
  }
  return upLab(given, host)
}

/** Returns the ports of the servers in the snapshot, or random ports if any of these is in use. */
const savedPorts = async ({ clusters }: Manifest): Promise<ReadonlyMap<string, PortPair>> => {
  const servers = imagedServers(clusters)
  const saved = servers.flatMap(({ ports }) => [ports.api, ports.cluster])
  const free = await Promise.all(saved.map(isFree))
  return free.every(Boolean)
    ? new Map(servers.map(({ name, ports }) => [name, ports]))
    : randomPorts(
        servers.map(({ name }) => name),
        formerPortsOf(servers),
      )
}
