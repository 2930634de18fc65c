import type { Runner } from '../../src/lab/drills/drill-schema.js'
import type { Drill } from '../../src/lab/drills/parse.js'
import { bringUp } from '../../src/lab/start/lab-for-drill.js'
import type { DrillResult } from '../../src/lab/drills/context/result.js'
import { runDrill } from '../../src/lab/drills/run/run-drill.js'

const SEED = '42'
const TIMEOUT_MS = 30_000

/**
 * Returns the names of failed steps and expectations, one per line. Omits expectations that were not checked because
 * the drill ended early.
 */
export const failuresOf = ({ steps, expectations }: DrillResult): string =>
  [
    ...steps.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name),
    ...expectations
      .filter(
        ({ passed, evidence }) =>
          !passed && !evidence.some((line) => /^not checked|^not measured: the drill stopped early/.test(line)),
      )
      .map(({ text }) => text),
  ].join('\n')

/** Plays a drill in its own lab, by default in this process. */
export const playAlone = async (drill: Drill, runner: Runner = 'in-process'): Promise<DrillResult> => {
  const own = await bringUp(drill, runner, { seed: SEED, timeoutMs: TIMEOUT_MS })
  try {
    return await runDrill(own.lab, drill, { seed: SEED, timeoutMs: TIMEOUT_MS })
  } finally {
    await own.end({ keep: false })
  }
}
