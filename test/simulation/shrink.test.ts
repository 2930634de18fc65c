import { expect, it } from 'vitest'
import { BUGS } from './bugs.js'
import { loadPlanted } from './planted.js'
import { shrink } from './shrink.js'
import { simulate } from './simulate.js'

const NAME = 'a use of a token is counted after its acceptance'
/** Fails with this bug, and not without it. */
const SEED = 1

const plant = async () => {
  const bug = BUGS.find(({ name }) => name === NAME)
  if (!bug) throw new Error('the bug is no longer in the list')
  return loadPlanted(bug)
}

it('shrink keeps the actions that make a run fail, and removes the others', async () => {
  const planted = await plant()
  const whole = await planted.simulate(SEED)
  const shrunk = await shrink(SEED, planted.simulate)
  expect(whole.acts.length).toBeGreaterThan(20)
  expect(shrunk?.outcome.acts.map(({ name }) => name)).toEqual([expect.stringMatching(/^credentials useToken/)])
  expect(shrunk?.outcome.failure?.message).toContain('a token of')
})

it('shrink returns the shortest failing run when it is stopped', async () => {
  const planted = await plant()
  const lengths: number[] = []
  const shrunk = await shrink(SEED, planted.simulate, (left, tries) => {
    lengths.push(left)
    return tries < 3
  })
  expect(shrunk?.tries).toBe(3)
  expect(shrunk?.outcome.failure?.message).toContain('a token of')
  expect(shrunk?.outcome.acts.length).toBeLessThanOrEqual(lengths.at(-1) ?? 0)
})

it('shrink returns nothing for a seed that does not fail', async () => {
  expect(await shrink(SEED, simulate)).toBeUndefined()
})
