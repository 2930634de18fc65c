import { messageOf } from '../base/printable.js'
import { readFileSync } from 'node:fs'
import { systemClock } from '../base/clock.js'
import { randomBySeed } from '../base/random.js'
import { HostedServers } from '../lab/hosted/hosted-servers.js'
import { type LabDaemonConfig, runLabDaemon } from '../lab/daemon/run-lab-daemon.js'
import { endWithParent } from '../lab/runner/end-with-parent.js'
import { StopSignals } from './terminal/stop-signals.js'

/**
 * Runs the process of an in-process lab, started by `up --in-process` with `-config=FILE` and ended by `down`. It
 * contains the lab daemon and the servers, which are started and stopped over the daemon's socket.
 */
const main = async (file: string): Promise<void> => {
  // SIGHUP is ignored, so that the lab continues when its terminal is closed.
  const signals = new StopSignals(() => process.exit(0))
  const config = JSON.parse(readFileSync(file, 'utf8')) as LabDaemonConfig
  const { seed } = config
  const randomFor = randomBySeed(seed)
  const servers = new HostedServers(config.servers ?? [], randomFor)
  const daemon = await runLabDaemon(config, { clock: systemClock, random: randomFor('links'), servers })
  const stopped = new Promise<void>((resolve) => signals.onStop(() => resolve()))
  endWithParent()
  await stopped
  await servers.close()
  await daemon.close()
  process.exit()
}

main((process.argv[2] ?? '').replace(/^-config=/, '')).catch((error: unknown) => {
  process.stderr.write(`the lab daemon failed: ${messageOf(error)}\n`)
  process.exit(1)
})
