import { parseArgs } from 'node:util'
import { MISSED_BUGS } from '../test/simulation/bugs/missed-bugs.js'
import { BUGS } from '../test/simulation/bugs.js'
import { searchFor } from '../test/simulation/search.js'

/**
 * Plants one bug after the other and says with which seed the simulation finds it, if it does.
 *
 *   npm run simulate:bugs -- [--seeds 200] [--only TEXT] [--missed]
 *
 * --only: those with this text in their name; --missed: those that were not found before.
 */
const readSettings = () => {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '200' },
      only: { type: 'string', default: '' },
      missed: { type: 'boolean', default: false },
    },
  })
  const seeds = Number(values.seeds)
  if (!Number.isSafeInteger(seeds) || seeds < 1) throw new Error('--seeds takes a whole number')
  return { ...values, seeds }
}

const { seeds, only, missed } = readSettings()
const bugs = [...(missed ? [] : BUGS), ...MISSED_BUGS].filter(({ name }) => name.includes(only))
let count = 0
for (const bug of bugs) {
  const found = await searchFor(bug, seeds)
  if (found) count++
  const where = found ? `seed ${found.seed}, after ${found.tries}: ${found.failure}` : 'MISSED'
  console.log(`${bug.name}\n    ${where.slice(0, 160)}`)
}
console.log(`${count} of ${bugs.length} are found within ${seeds} seeds each`)
