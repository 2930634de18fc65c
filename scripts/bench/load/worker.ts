import type { WorkerAnswer, WorkerTask } from './plan.js'
import { runLoad } from './run-load.js'
import { runProbe } from './run-probe.js'

/** The process of the load generator. It runs tasks one after the other, and exits with its parent. */
const run = async (task: WorkerTask): Promise<WorkerAnswer> => {
  try {
    const result = task.kind === 'load' ? await runLoad(task.plan) : await runProbe(task.plan)
    return { ok: true, result }
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) }
  }
}

process.on('message', (task: WorkerTask) => {
  run(task).then(
    (answer) => process.send?.(answer),
    () => undefined,
  )
})
process.on('disconnect', () => process.exit(0))
