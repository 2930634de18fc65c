import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { MISSED_BUGS } from './bugs/missed-bugs.js'
import { NODE_BUGS } from './bugs/node-bugs.js'
import { BUGS } from './bugs.js'
import { hasNodes, planOf } from './plan.js'
import { loadPlanted } from './planted.js'

/** Within so many seeds a bug has to be found. */
const SEEDS = 40
/** Those that have shown most until now come first: three clusters, two failovers, clients in a hurry. */
const FIRST = [24, 1, 12, 37, 2, 3]
const ORDER = [...new Set([...FIRST, ...Array.from({ length: SEEDS }, (_, index) => index + 1)])]
const WITH_NODES = ORDER.filter((seed) => hasNodes(planOf(seed)))

it.each(BUGS)('finds it when $name', async (bug) => {
  const { simulate } = await loadPlanted(bug)
  let found: string | undefined
  for (const seed of NODE_BUGS.includes(bug) ? WITH_NODES : ORDER) {
    const { failure } = await simulate(seed)
    if (failure) found = `seed ${seed}: ${failure.message}`
    if (found !== undefined) break
  }
  console.log(`${bug.name}: ${found}`)
  expect(found).toBeDefined()
})

it.each(MISSED_BUGS)('knows the line still with which it misses that $name', ({ file, from }) => {
  const text = readFileSync(path.join(import.meta.dirname, '..', '..', 'src', file), 'utf8')
  expect(text.split(from)).toHaveLength(2)
})
