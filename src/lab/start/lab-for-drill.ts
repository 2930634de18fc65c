import { createSystemRandom } from '../../base/random.js'
import { upContainers } from '../attach/container-lab.js'
import { InProcessLab } from '../library/in-process-lab.js'
import { LabError } from '../model/lab-error.js'
import { downLab } from '../lifecycle/down.js'
import { type LabHost, thisHost } from '../processes/lab-host.js'
import { upLab } from '../lifecycle/up.js'
import { openInProcessLab } from '../live/in-process-driver.js'
import { openLab } from '../live/open-lab.js'
import type { LiveLab } from '../live/live-lab.js'
import { randomPorts } from '../model/ports.js'
import { serversOf, type Topology } from '../model/topology.js'
import { loadTopology } from '../topology/catalogue.js'
import type { Runner } from '../drills/drill-schema.js'
import type { Drill } from '../drills/parse.js'
import { requireLinks } from '../drills/fitting.js'

interface DrillLabOptions {
  readonly seed: string
  readonly timeoutMs: number
  readonly onProgress: (text: string) => void
  readonly signal?: AbortSignal | undefined
  /** When aborted, remaining processes are killed immediately. */
  readonly hurry?: AbortSignal | undefined
}

/** A lab that was started for one drill. */
export interface DrillLab {
  readonly lab: LiveLab
  /** Releases the lab. With `keep`, its servers continue to run if the runner supports that. */
  end(options: { readonly keep: boolean }): Promise<void>
}

/** Starts the lab of a drill. Throws a usage error if the runner does not support the drill. */
export const bringUp = async (drill: Drill, runner: Runner, options: DrillLabOptions): Promise<DrillLab> => {
  if (drill.runners.length > 0 && !drill.runners.includes(runner))
    throw new LabError('usage', `the drill ${drill.name} is played on ${drill.runners.join(' or ')}, not on ${runner}`)
  requireLinks(drill, runner)
  return UP[runner](drill, loadTopology(drill.topology), options)
}

type Up = (drill: Drill, topology: Topology, options: DrillLabOptions) => Promise<DrillLab>

const optionsOf = (
  { name, settings, shares, threshold }: Drill,
  { timeoutMs, onProgress, signal }: DrillLabOptions,
) => ({
  ...{ settings, shares, threshold, timeoutMs, onProgress, signal },
  name: `drill-${name}-${createSystemRandom().bytes(3).toString('hex')}`,
})

const upProcesses: Up = async (drill, topology, options) => {
  const host: LabHost = thisHost()
  const { onProgress, hurry } = options
  const own = optionsOf(drill, options)
  const choosePorts = () => randomPorts(topology.clusters.flatMap((cluster) => serversOf(topology, cluster)))
  await upLab({ ...own, topology, choosePorts, clock: host.clock, hurry }, host)
  const lab = openLab(own.name, host)
  return {
    lab,
    end: async ({ keep }) => {
      await lab.close()
      if (keep) onProgress(`the lab "${own.name}" stays up; "understudy down ${own.name}" stops it`)
      else await downLab(own.name, { keep: false, onProgress, hurry }, host)
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

const upInContainers: Up = async (drill, topology, options) => {
  const host = thisHost()
  const { onProgress } = options
  const own = optionsOf(drill, options)
  const { lab, directory, end } = await upContainers({ ...own, topology, clock: host.clock }, host)
  return {
    lab,
    end: async ({ keep }) => {
      if (!keep) return end()
      await lab.close()
      onProgress(
        `the containers stay up, as the lab "${own.name}"; "docker compose down --volumes" in ${directory} ends them`,
      )
    },
  }
}

const UP: Readonly<Record<Runner, Up>> = {
  process: upProcesses,
  'in-process': upInProcess,
  docker: upInContainers,
}
