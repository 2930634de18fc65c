import { messageOf } from '../base/printable.js'
import { readFileSync } from 'node:fs'
import { type Clock, systemClock } from '../base/clock.js'
import { createLooseRandom } from '../base/loose-random.js'
import { type LabDaemonConfig, runLabDaemon } from '../lab/daemon/run-lab-daemon.js'
import { DAEMON_VARIABLE } from '../lab/model/daemon-record.js'
import { endWithParent } from '../lab/runner/end-with-parent.js'
import { StopSignals } from './terminal/stop-signals.js'

/** `performance` would load Node's measurement code, which uses memory for the lifetime of the lab. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1000 + nanoseconds / 1_000_000
  },
}

/**
 * Runs the lab daemon, started by `up` with `-config=FILE` and ended by `down`. In a container, an environment variable
 * contains the configuration. It is a separate program with few imports, because it uses memory for the lifetime of its
 * lab.
 */
const main = async (file: string): Promise<void> => {
  // SIGHUP is ignored, so that the lab continues when its terminal is closed.
  const signals = new StopSignals(() => process.exit(0))
  const text = file === '' ? (process.env[DAEMON_VARIABLE] ?? '') : readFileSync(file, 'utf8')
  const config = JSON.parse(text) as LabDaemonConfig
  const daemon = await runLabDaemon(config, { clock, random: createLooseRandom() })
  const stopped = new Promise<void>((resolve) => signals.onStop(() => resolve()))
  endWithParent()
  await stopped
  await daemon.close()
}

main((process.argv[2] ?? '').replace(/^-config=/, '')).catch((error: unknown) => {
  process.stderr.write(`the lab daemon failed: ${messageOf(error)}\n`)
  process.exit(1)
})
