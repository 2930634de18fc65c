import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { shareOfDay } from '../support/share-of-day.js'
import { MISSED_BUGS } from './bugs/missed-bugs.js'
import { BUGS } from './bugs.js'
import { searchFor } from './search.js'

/** Within so many seeds that have what it needs a bug has to be found; almost all of them are by one of the first. */
const SEEDS = 200
const BUGS_OF_DAY = 12

it.each(shareOfDay(BUGS, BUGS_OF_DAY))('the simulation finds the planted bug: $name', async (bug) => {
  const found = await searchFor(bug, SEEDS)
  console.log(`${bug.name}: seed ${found?.seed}: ${found?.failure}`)
  expect(found).toBeDefined()
})

it.each(MISSED_BUGS)('the line of a planted bug that the simulation misses exists: $name', ({ file, from }) => {
  const text = readFileSync(path.join(import.meta.dirname, '..', '..', 'src', file), 'utf8')
  expect(text.split(from)).toHaveLength(2)
})
