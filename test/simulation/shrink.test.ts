import { expect, it } from 'vitest'
import { BUGS } from './bugs.js'
import { loadPlanted } from './planted.js'
import { shrink } from './shrink.js'
import { simulate } from './simulate.js'

const NAME = 'a use of a token is counted after it is taken'
/** Fails with this bug, and not without it. */
const SEED = 1

it('leaves of a story what makes it fail, and nothing else', async () => {
  const bug = BUGS.find(({ name }) => name === NAME)
  if (!bug) throw new Error('that bug is not planted any more')
  const planted = await loadPlanted(bug)
  const whole = await planted.simulate(SEED)
  const shrunk = await shrink(SEED, planted.simulate)
  expect(whole.acts.length).toBeGreaterThan(20)
  expect(shrunk?.outcome.acts.map(({ name }) => name)).toEqual([expect.stringMatching(/^credentials useToken/)])
  expect(shrunk?.outcome.failure?.message).toContain('a token of')
})

it('has nothing to say of a seed that does not fail', async () => {
  expect(await shrink(SEED, simulate)).toBeUndefined()
})
