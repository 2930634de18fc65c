import { readFileSync } from 'node:fs'
import { systemClock } from '../base/clock.js'
import { createLooseRandom } from '../base/loose-random.js'
import { HostedServers } from '../lab/hosted/hosted-servers.js'
import { type KeeperConfig, runKeeper } from '../lab/keeper/run-keeper.js'
import { endWithParent } from '../lab/runner/end-with-parent.js'

/**
 * The process of a lab that runs in one, started by `up --in-process` with `-config=FILE` and ended by `down`: its keeper, and
 * its servers beside it, which are started and stopped over the keeper's socket.
 */
const main = async (file: string): Promise<void> => {
  const config = JSON.parse(readFileSync(file, 'utf8')) as KeeperConfig
  const servers = new HostedServers(config.servers ?? [])
  const keeper = await runKeeper(config, { clock: systemClock, random: createLooseRandom(), servers })
  endWithParent()
  await new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, resolve)
    // The terminal that the lab was started from is closed: the lab goes on.
    process.on('SIGHUP', () => undefined)
  })
  await servers.close()
  await keeper.close()
  process.exit()
}

main((process.argv[2] ?? '').replace(/^-config=/, '')).catch((error: unknown) => {
  process.stderr.write(`the keeper cannot go on: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
})
