import { parseArgs } from 'node:util'
import { MISSED_BUGS } from '../test/simulation/bugs/missed-bugs.js'
import { BUGS } from '../test/simulation/bugs.js'
import type { Bug } from '../test/simulation/planted.js'
import { searchFor } from '../test/simulation/search.js'
import { runScript } from './support/run-script.js'

const HELP = `Plant each bug in turn, and print the seed that finds it.

  npm run simulate:bugs -- [--seeds N] [--only TEXT] [--missed]

  --seeds N     maximum number of seeds for each bug (default 200)
  --only TEXT   only bugs whose names contain TEXT
  --missed      only bugs that the simulation is known to miss`

/**
 * Returns the selected bugs and the number of seeds, or undefined for --help. Throws an Error for invalid arguments.
 */
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
  if (!Number.isSafeInteger(seeds) || seeds < 1) throw new Error('--seeds must be an integer of at least 1')
  const bugs = [...(values.missed ? [] : BUGS), ...MISSED_BUGS].filter(({ name }) => name.includes(values.only))
  if (bugs.length === 0) throw new Error(`no bug has "${values.only}" in its name`)
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
  console.log(`found ${count} of ${bugs.length} bugs within ${seeds} seeds each`)
  return 0
}

process.exitCode = await runScript(HELP, readSettings, searchAll)
