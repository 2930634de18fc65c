import { expect, it } from 'vitest'
import {
  changeFilter,
  demoteDr,
  enableSecondary,
  enumerateCrashes,
  type Operation,
  promoteDr,
  purgeMount,
  updatePrimary,
} from '../../support/crash-operations.js'

/**
 * Every step that an operation does on the disk of a cluster is the last one of its process once. What the next process
 * finds is the state before or the state after, and from either the cluster goes on.
 */
const SEED = 7

/** The operation, and how many steps it has at least: fewer would mean that they are not seen. */
const OPERATIONS: readonly [Operation, number][] = [
  [enableSecondary('performance'), 8],
  [enableSecondary('dr'), 8],
  [promoteDr(), 2],
  [demoteDr(), 2],
  [updatePrimary(), 5],
  [changeFilter('pr', 'C'), 5],
  [changeFilter('four', 'C'), 5],
  [changeFilter('four', 'D'), 5],
  [purgeMount(), 4],
]

it.each(OPERATIONS.map(([operation, stepsMin]) => ({ name: operation.name, operation, stepsMin })))(
  '$name leaves the state before or after, wherever its process dies',
  async ({ operation, stepsMin }) => {
    const { steps, found } = await enumerateCrashes(operation, SEED)
    console.log(`${operation.name}: ${steps.length} steps (${steps.join(', ')}); ${JSON.stringify(found)}`)
    expect(steps.length).toBeGreaterThanOrEqual(stepsMin)
    // Of two changes that meet in one batch a later run has a step less.
    expect(found.before + found.after).toBeGreaterThanOrEqual(steps.length)
  },
)
