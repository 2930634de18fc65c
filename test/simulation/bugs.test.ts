import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { MISSED_BUGS } from './bugs/missed-bugs.js'
import { BUGS } from './bugs.js'
import { searchFor } from './search.js'

/** Within so many seeds that have what it needs a bug has to be found; almost all of them are by one of the first. */
const SEEDS = 200

it.each(BUGS)('finds it when $name', async (bug) => {
  const found = await searchFor(bug, SEEDS)
  console.log(`${bug.name}: seed ${found?.seed}: ${found?.failure}`)
  expect(found).toBeDefined()
})

it.each(MISSED_BUGS)('knows the line still with which it misses that $name', ({ file, from }) => {
  const text = readFileSync(path.join(import.meta.dirname, '..', '..', 'src', file), 'utf8')
  expect(text.split(from)).toHaveLength(2)
})
