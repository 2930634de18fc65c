import { NODE_BUGS } from './bugs/node-bugs.js'
import { hasNodes, planOf } from './plan.js'
import { type Bug, loadPlanted } from './planted.js'

/** Those that have shown most until now come first: three clusters, two failovers, clients in a hurry. */
const FIRST = [24, 1, 12, 37, 2, 3]

/** Where a bug was found. */
export interface Found {
  readonly seed: number
  /** How many seeds were played, with it. */
  readonly tries: number
  readonly failure: string
}

const seedsFor = (bug: Bug, seeds: number): readonly number[] => {
  const all = [...new Set([...FIRST, ...Array.from({ length: seeds }, (_, index) => index + 1)])]
  return (NODE_BUGS.includes(bug) ? all.filter((seed) => hasNodes(planOf(seed))) : all).slice(0, seeds)
}

/** Plants a bug and plays one seed after the other until one fails. Undefined when none of so many does. */
export const searchFor = async (bug: Bug, seeds: number): Promise<Found | undefined> => {
  const { simulate } = await loadPlanted(bug)
  let tries = 0
  for (const seed of seedsFor(bug, seeds)) {
    tries++
    const { failure } = await simulate(seed)
    if (failure) return { seed, tries, failure: failure.message }
  }
  return undefined
}
