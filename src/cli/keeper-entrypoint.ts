import { readFileSync } from 'node:fs'
import { type Clock, systemClock } from '../base/clock.js'
import { createLooseRandom } from '../base/loose-random.js'
import { type KeeperConfig, runKeeper } from '../lab/keeper/control/run-keeper.js'
import { endWithParent } from '../lab/runner/end-with-parent.js'
import { StopSignals } from './terminal/stop-signals.js'

/** Asking `performance` for the time would load all that node has for measuring, which takes memory for as long as the lab is up. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1000 + nanoseconds / 1_000_000
  },
}

/**
 * The background process of a lab, started by `up` with `-config=FILE` and ended by `down`. It is a program of its own,
 * which imports little: it runs for as long as its lab, and costs memory meanwhile.
 */
const main = async (file: string): Promise<void> => {
  // SIGHUP does nothing: when the terminal that the lab was started from is closed, the lab goes on.
  const signals = new StopSignals(() => process.exit(0))
  const config = JSON.parse(readFileSync(file, 'utf8')) as KeeperConfig
  const keeper = await runKeeper(config, { clock, random: createLooseRandom() })
  const stopped = new Promise<void>((resolve) => signals.onStop(() => resolve()))
  endWithParent()
  await stopped
  await keeper.close()
}

main((process.argv[2] ?? '').replace(/^-config=/, '')).catch((error: unknown) => {
  process.stderr.write(`the keeper cannot go on: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
