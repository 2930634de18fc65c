import { alternatives, counted } from '../../base/counted.js'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { inStep, note } from '../../base/progress.js'
import { createSystemRandom } from '../../base/random.js'
import { attachLab, clustersAt } from '../attach/attach.js'
import { wireClusters } from '../attach/wiring.js'
import { findComposeProject } from '../containers/compose-project.js'
import { containerHostOf } from '../containers/container-daemon.js'
import { compose, composeLine } from '../containers/docker.js'
import { exportCompose } from '../export/compose.js'
import { describeLeftOut, writeExport } from '../export/plan.js'
import { NO_KEYS } from '../keys/keys-file.js'
import { InProcessLab } from '../library/in-process-lab.js'
import { LabError } from '../model/lab-error.js'
import { downLab } from '../lifecycle/down.js'
import { type LabHost, thisHost } from '../processes/lab-host.js'
import { upLab } from '../lifecycle/up.js'
import { openInProcessLab } from '../live/in-process-driver.js'
import { openLab } from '../live/open-lab.js'
import type { LiveLab } from '../live/live-lab.js'
import { randomPorts } from '../model/ports.js'
import type { LabSettings } from '../model/settings.js'
import { planOf, serversOf, type Topology } from '../model/topology.js'
import { loadTopology } from '../topology/catalogue.js'
import type { Runner } from '../drills/drill-schema.js'
import type { Drill } from '../drills/parse.js'
import { requireRoles, runsOn } from '../drills/fitting.js'
import type { AnyLab } from '../model/cluster.js'

/**
 * Returns why a drill does not run on this lab in place of its own. Undefined if Understudy started the lab, and the
 * lab has the topology, the settings and the roles that the drill requires. Additional settings of the lab, such as
 * TLS, do not matter.
 */
export const findMisfit = async (drill: Drill, record: AnyLab, host: LabHost): Promise<string | undefined> => {
  if (record.state !== 'running') return record.state === 'attached' ? 'its servers are external' : 'it is not running'
  const { runners, settings } = drill
  if (!runsOn(drill, record.isInProcess ? 'in-process' : 'process'))
    return `the drill runs only on ${alternatives(runners)}`
  await using lab = openLab(record.name, host)
  const wanted = loadTopology(drill.topology)
  if (Object.keys(settings).length > 0) return 'the drill requires other settings'
  if (!isPlayable(wanted, lab.topology)) return `the drill requires the topology ${wanted.name}`
  try {
    await requireRoles(drill, lab)
    return undefined
  } catch (error) {
    if (error instanceof LabError) return error.message
    throw error
  }
}

/** Whether a topology has the clusters and links of another one, and at least its settings. */
const isPlayable = (wanted: Topology, given: Topology): boolean => {
  const shapeOf = ({ clusters, links }: Topology) => JSON.stringify([clusters, links])
  const hasPlan = (name: string) => {
    const own = planOf(given, name)
    return JSON.stringify({ ...own, ...planOf(wanted, name) }) === JSON.stringify(own)
  }
  return shapeOf(wanted) === shapeOf(given) && wanted.clusters.every(hasPlan)
}

interface DrillLabOptions {
  /** The seed of an in-process lab. */
  readonly seed?: string | undefined
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** When aborted, remaining processes are killed immediately. */
  readonly forceSignal?: AbortSignal | undefined
}

/** A lab that was started for one drill. */
export interface DrillLab {
  readonly lab: LiveLab
  /** Releases the lab. With `keep`, its servers continue to run if the runner supports that. */
  end(options: { readonly keep: boolean }): Promise<void>
}

/** Starts the lab of a drill. Rejects with a usage error if the runner does not support the drill. */
export const bringUp = async (drill: Drill, runner: Runner, options: DrillLabOptions): Promise<DrillLab> => {
  if (!runsOn(drill, runner))
    throw new LabError('usage', `the drill ${drill.name} runs only on ${alternatives(drill.runners)}, not on ${runner}`)
  return UP[runner](drill, loadTopology(drill.topology), options)
}

type Up = (drill: Drill, topology: Topology, options: DrillLabOptions) => Promise<DrillLab>

const optionsOf = ({ name, settings, shares, threshold }: Drill, { timeoutMs, signal }: DrillLabOptions) => ({
  settings,
  shares,
  threshold,
  timeoutMs,
  signal,
  name: `drill-${name}-${createSystemRandom().bytes(3).toString('hex')}`,
})

const upProcesses: Up = async (drill, topology, options) => {
  const host: LabHost = thisHost()
  const { forceSignal } = options
  const own = optionsOf(drill, options)
  const choosePorts = () => randomPorts(topology.clusters.flatMap((cluster) => serversOf(topology, cluster)))
  await upLab({ ...own, topology, choosePorts, clock: host.clock, forceSignal }, host)
  const lab = openLab(own.name, host)
  return {
    lab,
    end: async ({ keep }) => {
      await lab.close()
      if (keep) note(`the lab "${own.name}" keeps running; "understudy down ${own.name}" stops it`)
      else await downLab(own.name, { keep: false, forceSignal }, host)
    },
  }
}

const upInProcess: Up = async (drill, topology, { seed, timeoutMs, signal }) => {
  const { settings, shares, threshold } = drill
  signal?.throwIfAborted()
  const inProcess = await InProcessLab.start(topology, { seed, settings, shares, threshold, timeoutMs })
  const lab = openInProcessLab(inProcess)
  return {
    lab,
    end: async () => {
      await lab.close()
      await inProcess.close()
    },
  }
}

const DEFAULT_IMAGE = 'understudy'

/**
 * Starts a topology as local containers: with the compose file of an export, on free ports, wired by this process. On
 * failure or interruption, removes what it started.
 */
const upInContainers: Up = async (drill, given, options) => {
  const host = thisHost()
  const { signal } = options
  const { name, settings, ...own } = optionsOf(drill, options)
  const topology = withSettings(given, settings)
  for (const text of describeLeftOut(topology, true)) note(`note: ${text}`)
  // The directory may outlive this process: removing the containers later requires its compose file.
  const directory = mkdtempSync(path.join(tmpdir(), `understudy-${name}-`))
  const end = async () => {
    await compose(directory, 'down', '--volumes', '--timeout', '0').catch(() => undefined)
    await downLab(name, { keep: false }, host)
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const names = topology.clusters.flatMap((cluster) => serversOf(topology, cluster))
    const services = names.map(containerHostOf)
    // The containers of the servers, and the two ports of the lab daemon.
    const ports = await randomPorts([...names, 'LINKS', 'TOXIPROXY'])
    const image = process.env.UNDERSTUDY_IMAGE ?? DEFAULT_IMAGE
    // Compose reads the variables of its file from `.env`, also in later calls from other processes.
    const variables = [...ports].map(([server, { api }]) => `${server}_PORT=${api}\n`).join('')
    const files = [...exportCompose({ topology }, { image }), { path: '.env', text: variables }]
    writeExport(directory, files, false)
    const what = `${counted(services.length, 'container')} of the image ${image}`
    await inStep(`start ${what}`, () => compose(directory, 'up', '--detach', ...services), `started ${what}`)
    signal?.throwIfAborted()
    const { containers, addresses, keeper, caPem } = await findComposeProject(directory)
    const caFile = caPem === undefined ? undefined : path.join(directory, 'ca.pem')
    if (caFile !== undefined && caPem !== undefined) writeFileSync(caFile, caPem)
    const wiring = { ...own, clock: host.clock, caFile, onKeep: () => undefined }
    const { wired } = await wireClusters(topology, addresses, undefined, wiring)
    const keys = { ...NO_KEYS, clusters: new Map(wired.clusters.map((cluster) => [cluster.name, cluster])) }
    const clusters = clustersAt(addresses, keys, { containers, caFile: undefined })
    await attachLab({ name, topology: topology.name, clusters, keeper, caPem, onWarning: note }, host)
    const lab = openLab(name, host)
    return {
      lab,
      end: async ({ keep }) => {
        await lab.close()
        if (!keep) return end()
        const line = await composeLine('down --volumes')
        note(`the containers keep running as the lab "${name}"; "${line}" in ${directory} removes them`)
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

const UP: Readonly<Record<Runner, Up>> = {
  process: upProcesses,
  'in-process': upInProcess,
  docker: upInContainers,
}
