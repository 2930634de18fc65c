import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exportCompose } from '../export/compose.js'
import { describeLeftOut, writeExport } from '../export/plan.js'
import { downLab } from '../lifecycle/down.js'
import type { LabHost } from '../processes/lab-host.js'
import { openLab } from '../live/open-lab.js'
import type { LiveLab } from '../live/live-lab.js'
import { type AttachedServer, serversIn } from '../model/cluster.js'
import { randomPorts } from '../model/ports.js'
import type { LabSettings } from '../model/settings.js'
import { planOf, serversOf, type Topology } from '../model/topology.js'
import type { WireOptions } from '../wiring/wire.js'
import { attachLab, clusterOf } from './attach.js'
import { findComposeProject } from '../containers/compose-project.js'
import { compose } from '../containers/docker.js'
import { wireClusters } from './wiring.js'

interface ContainerLabOptions extends WireOptions {
  readonly name: string
  readonly topology: Topology
  /** Settings for every cluster. They override the settings of the topology. */
  readonly settings: LabSettings
}

interface ContainerLab {
  readonly lab: LiveLab
  /** The directory of its compose file. */
  readonly directory: string
  /** Removes the containers and the record of the lab. */
  end(): Promise<void>
}

const DEFAULT_IMAGE = 'understudy'

/**
 * Starts a topology as local containers: with the compose file of an export, on free ports, wired by this process. On failure or
 * interruption, removes what it started.
 */
export const upContainers = async (options: ContainerLabOptions, host: LabHost): Promise<ContainerLab> => {
  const { name, onProgress, signal } = options
  const topology = withSettings(options.topology, options.settings)
  for (const text of describeLeftOut(topology)) onProgress(`note: ${text}`)
  // The directory may outlive this process: removing the containers later requires its compose file.
  const directory = mkdtempSync(path.join(tmpdir(), `understudy-${name}-`))
  const end = async () => {
    await compose(directory, 'down', '--volumes', '--timeout', '0').catch(() => undefined)
    await downLab(name, { keep: false, onProgress: () => undefined }, host)
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const names = topology.clusters.flatMap((cluster) => serversOf(topology, cluster))
    const services = names.map((name) => name.toLowerCase())
    const ports = await randomPorts(names)
    const image = process.env.UNDERSTUDY_IMAGE ?? DEFAULT_IMAGE
    // Compose reads the variables of its file from `.env`, also in later calls from other processes.
    const variables = [...ports].map(([name, { api }]) => `${name}_PORT=${api}\n`).join('')
    const files = [...exportCompose({ topology }, { image }), { path: '.env', text: variables }]
    writeExport(directory, files, false)
    onProgress(`starting ${services.length} containers of the image ${image}`)
    await compose(directory, 'up', '--detach', ...services)
    signal?.throwIfAborted()
    const { servers, caPem } = await findComposeProject(directory)
    const caFile = caPem === undefined ? undefined : path.join(directory, 'ca.pem')
    if (caFile !== undefined && caPem !== undefined) writeFileSync(caFile, caPem)
    const addresses = new Map(
      [...servers].flatMap(([server, { apiAddress }]) => (apiAddress ? [[server, apiAddress]] : [])),
    )
    const { wired } = await wireClusters(topology, addresses, undefined, {
      ...options,
      caFile,
      onKeep: () => undefined,
    })
    const clusters = wired.clusters.map((cluster) => {
      const own = serversIn<AttachedServer>(cluster)
      return clusterOf(
        cluster.name,
        own.map((one) => ({ name: one.name, apiAddress: one.apiAddress, container: servers.get(one.name)?.container })),
        cluster,
      )
    })
    await attachLab({ name, topology: topology.name, clusters, caPem, onWarning: onProgress }, host)
    const lab = openLab(name, host)
    return {
      lab,
      directory,
      end: async () => {
        await lab.close()
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

const withSettings = (topology: Topology, settings: LabSettings): Topology => {
  const plans = topology.clusters.map((name) => {
    const plan = planOf(topology, name)
    return [name, { ...plan, settings: { lab_api: true, ...plan.settings, ...settings } }] as const
  })
  return { ...topology, plans: Object.fromEntries(plans) }
}
