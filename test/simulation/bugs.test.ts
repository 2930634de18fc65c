import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { shareOfDay } from '../support/share-of-day.js'
import { MISSED_BUGS } from './bugs/missed-bugs.js'
import { BUGS } from './bugs.js'
import { searchFor } from './search.js'

/**
 * Number of seeds within which each bug must be found, among the seeds that have what the bug needs. Almost all bugs
 * are found by one of the first seeds.
 */
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
