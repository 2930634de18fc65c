import { setTimeout } from 'node:timers/promises'

/** Polls until `fact` returns true. A test in which it never does fails by its timeout. */
export const until = async (fact: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await fact())) await setTimeout(2)
}
