import { FOUND_BY } from './bugs/found-by.js'
import { planOf } from './plan.js'
import { type Bug, loadPlanted } from './planted.js'

/** Seeds that found the most bugs come first, followed by seeds that found bugs which others miss. */
const FIRST = [24, 1, 12, 14, 3, 13, 37, 33, 35, 15, 4, 2, 17, 54, 98, 1424]

/** A bug that was found. */
export interface Found {
  readonly seed: number
  /** Number of played seeds, including the one that found the bug. */
  readonly tries: number
  readonly failure: string
}

/** Returns the seed that found the bug before, then the first seeds that have what the bug needs. */
const seedsFor = ({ name, needs = () => true }: Bug, seeds: number): readonly number[] => {
  const known = FOUND_BY[name]
  const found = FIRST.filter((seed) => seed !== known && needs(planOf(seed)))
  if (known !== undefined) found.unshift(known)
  for (let seed = 1; found.length < seeds; seed++) if (!found.includes(seed) && needs(planOf(seed))) found.push(seed)
  return found.slice(0, seeds)
}

/** Plants a bug and plays one seed after another until one fails. Returns undefined if none of `seeds` fails. */
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
