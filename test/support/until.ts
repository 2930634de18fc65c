import { setTimeout } from 'node:timers/promises'

/** Resolves when `fact` holds. A test that never sees it fails by its own time limit. */
export const until = async (fact: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await fact())) await setTimeout(2)
}
