import { readFileSync } from 'node:fs'
import { systemClock } from '../../../base/clock.js'
import { createSystemRandom } from '../../../base/random.js'
import { type KeeperConfig, runKeeper } from '../../../lab/keeper/run-keeper.js'
import { endWithParent } from '../../../lab/runner/child-process.js'
import { EXIT } from '../../exit-codes.js'
import type { Output } from '../../output.js'

/** `understudy keeper -config=FILE`: the background process of a lab, started by `up` and ended by `down`. */
export const keeperCommand = async (args: readonly string[], output: Output): Promise<number> => {
  const file = args[0]?.replace(/^-config=/, '')
  if (!file || file === args[0]) {
    output.complain('understudy: the keeper is started by "understudy up"')
    return EXIT.usage
  }
  const config = JSON.parse(readFileSync(file, 'utf8')) as KeeperConfig
  const keeper = await runKeeper(config, { clock: systemClock, random: createSystemRandom() })
  endWithParent()
  await new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, resolve)
    // The terminal that the lab was started from is closed: the lab goes on.
    process.on('SIGHUP', () => undefined)
  })
  await keeper.close()
  return EXIT.ok
}
