import { loadDrill } from '../drills/catalogue.js'
import type { Drill } from '../drills/drill.js'
import { parseDrill } from '../drills/parse.js'
import type { DrillResult } from '../drills/result.js'
import { runDrill, type RunDrillOptions } from '../drills/run-drill.js'
import { LabError } from '../lab-error.js'
import { type DrivenLab, openInProcessLab } from '../live/in-process-driver.js'
import { requireTopology } from '../topology/catalogue.js'

/** Plays a drill on a lab of a test. */
export const playDrill = async (
  lab: DrivenLab,
  drill: string | object,
  options: RunDrillOptions,
): Promise<DrillResult> => {
  const parsed = typeof drill === 'string' ? loadDrill(drill) : parseDrill(JSON.stringify(drill, undefined, 2), 'drill')
  requireClusters(lab, parsed)
  await using live = openInProcessLab(lab)
  return await runDrill(live, parsed, options)
}

const requireClusters = (lab: DrivenLab, { name, topology }: Drill): void => {
  const there = lab.clusters.map((cluster) => cluster.name)
  const missing = requireTopology(topology).clusters.filter((cluster) => !there.includes(cluster))
  if (missing.length === 0) return
  throw new LabError(
    'usage',
    `the drill ${name} is for the topology ${topology}: this lab of the topology ${lab.topology.name} has no cluster ${missing.join(', ')}`,
  )
}
