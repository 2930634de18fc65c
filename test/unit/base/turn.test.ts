import { expect, it } from 'vitest'
import { TurnEnd } from '../../../src/base/turn.js'

it('a turn end runs its tasks in order after the current turn', async () => {
  const end = new TurnEnd()
  const done: number[] = []
  const first = end.add(() => done.push(1))
  const second = end.add(() => done.push(2))
  await Promise.resolve()
  expect(done).toEqual([])
  await first
  expect(done).toEqual([1, 2])
  await second
})

it('a failing task of a turn end fails its own promise only', async () => {
  const end = new TurnEnd()
  const broken = new Error('broken')
  const failing = end.add(() => {
    throw broken
  })
  let isDone = false
  const other = end.add(() => {
    isDone = true
  })
  await expect(failing).rejects.toBe(broken)
  await other
  expect(isDone).toBe(true)
})

it('a task added during a turn end runs at the end of the next turn', async () => {
  const end = new TurnEnd()
  const done: string[] = []
  let later: Promise<void> | undefined
  await end.add(() => {
    done.push('first')
    later = end.add(() => done.push('second'))
  })
  expect(done).toEqual(['first'])
  await later
  expect(done).toEqual(['first', 'second'])
})
