import type { Drill } from '../../src/lab/drills/drill.js'
import { bringUp } from '../../src/lab/drills/lab-for-drill.js'
import type { DrillResult } from '../../src/lab/drills/result.js'
import { runDrill } from '../../src/lab/drills/run-drill.js'

const SEED = '42'
const TIMEOUT_MS = 30_000

/** Plays a drill on a lab of its own in this process. */
export const playInProcess = async (drill: Drill): Promise<DrillResult> => {
  const own = await bringUp(drill, 'in-process', { seed: SEED, timeoutMs: TIMEOUT_MS, onProgress: () => undefined })
  try {
    return await runDrill(own.lab, drill, { seed: SEED, timeoutMs: TIMEOUT_MS })
  } finally {
    await own.end({ keep: false })
  }
}
