import { expect, test } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { createPacer } from '../../../src/replication/primary/pacer.js'

/** How a copy for a secondary pauses in favor of writers on its primary. */
const start = () => {
  const clock = new ManualClock()
  let index = 7
  const pace = createPacer(clock, () => index)
  const rest = () => {
    const resting = { isOver: false }
    const ended = pace().then(() => {
      resting.isOver = true
    })
    return { resting, ended }
  }
  return { clock, rest, write: () => index++ }
}

test('the pacer continues at once without concurrent writes', async () => {
  const { clock, rest } = start()
  clock.advance(5)
  await rest().ended
})

test('the pacer rests three times its work time only after a concurrent write', async () => {
  const { clock, rest, write } = start()
  clock.advance(5)
  write()
  const { resting, ended } = rest()
  clock.advance(14)
  await Promise.resolve()
  expect(resting.isOver).toBe(false)
  clock.advance(1)
  await ended
  clock.advance(5)
  await rest().ended
})

test('the pacer limits its rest behind a slow secondary', async () => {
  const { clock, rest, write } = start()
  clock.advance(60_000)
  write()
  const { ended } = rest()
  clock.advance(100)
  await ended
})
