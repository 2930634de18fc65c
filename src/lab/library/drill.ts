import { loadDrill } from '../drills/catalogue.js'
import { requireFitting, requireRoles } from '../drills/fitting.js'
import { parseDrill } from '../drills/parse.js'
import type { DrillResult } from '../drills/context/result.js'
import { runDrill, type RunDrillOptions } from '../drills/run/run-drill.js'
import { type DrivenLab, openInProcessLab } from '../live/in-process-driver.js'

/** Runs a drill on a lab of the library, see `InProcessLab.drill`. Stops when `closing` is aborted. */
export const playDrill = async (
  lab: DrivenLab,
  drill: string | object,
  options: RunDrillOptions,
  closing: AbortSignal,
): Promise<DrillResult> => {
  const signal = AbortSignal.any(options.signal ? [closing, options.signal] : [closing])
  const parsed = typeof drill === 'string' ? loadDrill(drill) : parseDrill(JSON.stringify(drill, undefined, 2), 'drill')
  await using live = openInProcessLab(lab)
  requireFitting(parsed, live)
  await requireRoles(parsed, live, '; reset() restores the initial state')
  return await runDrill(live, parsed, { ...options, signal })
}
