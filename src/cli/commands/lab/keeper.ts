import { readFileSync } from 'node:fs'
import { systemClock } from '../../../base/clock.js'
import { createSystemRandom } from '../../../base/random.js'
import { Keeper } from '../../../lab/keeper/keeper.js'
import { serveKeeper } from '../../../lab/keeper/keeper-server.js'
import type { KeeperConfig } from '../../../lab/lifecycle/keeper-process.js'
import { EXIT } from '../../exit-codes.js'
import type { Output } from '../../output.js'

/** `understudy keeper -config=FILE`: the background process of a lab, started by `up` and ended by `down`. */
export const runKeeper = async (args: readonly string[], output: Output): Promise<number> => {
  const file = args[0]?.replace(/^-config=/, '')
  if (!file || file === args[0]) {
    output.complain('understudy: the keeper is started by "understudy up"')
    return EXIT.usage
  }
  const { routes, socket } = JSON.parse(readFileSync(file, 'utf8')) as KeeperConfig
  const keeper = await Keeper.open({ routes, clock: systemClock, random: createSystemRandom() })
  const control = await serveKeeper(keeper, socket)
  await new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, resolve)
    // The terminal that the lab was started from is closed: the lab goes on.
    process.on('SIGHUP', () => undefined)
  })
  await control.close()
  await keeper.close()
  return EXIT.ok
}
