import { expect, it } from 'vitest'
import { nextTurn, stepsInTurn, TurnEnd } from '../../../src/base/turn.js'

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

it('each step of a turn runs after the promise callbacks of the previous step', async () => {
  const done: string[] = []
  let left = 3
  await stepsInTurn(() => {
    done.push('step')
    void Promise.resolve().then(() => done.push('callback'))
    return --left > 0
  })
  expect(done).toEqual(['step', 'callback', 'step', 'callback', 'step', 'callback'])
})

it('no further step of a turn runs before work in slices ends', async () => {
  const done: string[] = []
  const work = async () => {
    await nextTurn()
    await nextTurn()
    done.push('slices')
  }
  const step = () => {
    done.push('step')
    if (done.length === 1) void work()
    return done.length < 3
  }
  while (done.length < 3) await stepsInTurn(step)
  expect(done).toEqual(['step', 'slices', 'step'])
})

it('an error of a step ends the steps of the turn', async () => {
  const broken = new Error('broken')
  let steps = 0
  const failing = stepsInTurn(() => {
    steps++
    throw broken
  })
  await expect(failing).rejects.toBe(broken)
  expect(steps).toBe(1)
})
