import { parseArgs } from 'node:util'
import { MISSED_BUGS } from '../test/simulation/bugs/missed-bugs.js'
import { BUGS } from '../test/simulation/bugs.js'
import type { Bug } from '../test/simulation/planted.js'
import { searchFor } from '../test/simulation/search.js'
import { runAsked } from './support/asked.js'

/** Plants one bug after the other and says with which seed the simulation finds it, if it does. */
const HELP = `Plants one bug after the other and says with which seed the simulation finds it, if it does.

  npm run simulate:bugs -- [--seeds N] [--only TEXT] [--missed]

  --seeds N     seeds for each of them; 200 without it
  --only TEXT   those with this text in their name
  --missed      those that were not found before`

/** The bugs that are asked for, and how many seeds each gets. Undefined where help is. Throws an Error that says what cannot be. */
const readSettings = () => {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '200' },
      only: { type: 'string', default: '' },
      missed: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return undefined
  const seeds = Number(values.seeds)
  if (!Number.isSafeInteger(seeds) || seeds < 1) throw new Error('--seeds takes a whole number of at least 1')
  const bugs = [...(values.missed ? [] : BUGS), ...MISSED_BUGS].filter(({ name }) => name.includes(values.only))
  if (bugs.length === 0) throw new Error(`no such bug has "${values.only}" in its name`)
  return { bugs, seeds }
}

const searchAll = async ({
  bugs,
  seeds,
}: {
  readonly bugs: readonly Bug[]
  readonly seeds: number
}): Promise<number> => {
  let count = 0
  for (const bug of bugs) {
    const found = await searchFor(bug, seeds)
    if (found) count++
    const where = found ? `seed ${found.seed}, after ${found.tries}: ${found.failure}` : 'MISSED'
    console.log(`${bug.name}\n    ${where.slice(0, 160)}`)
  }
  console.log(`${count} of ${bugs.length} are found within ${seeds} seeds each`)
  return 0
}

process.exitCode = await runAsked(HELP, readSettings, searchAll)
