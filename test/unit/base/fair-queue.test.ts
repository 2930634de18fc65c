import { expect, it } from 'vitest'
import { FairQueue } from '../../../src/base/fair-queue.js'

const queueOf = (jobs: readonly string[], limits = { waitingMax: 100, perSourceMax: 100 }) => {
  const queue = new FairQueue<string>(limits)
  const late = jobs.flatMap((job) => {
    const [source = '', name = ''] = job.split('/')
    return queue.add(job, { source, name }) ?? []
  })
  return { queue, late }
}

it('sources take turns, and so do the names of a source', () => {
  const { queue } = queueOf(['a/x/1', 'a/x/2', 'a/x/3', 'a/y/1', 'b/x/1'])
  expect(queue.clear()).toEqual(['a/x/1', 'b/x/1', 'a/y/1', 'a/x/2', 'a/x/3'])
  expect(queue.shift()).toBeUndefined()
})

it('beyond the limit of a source, the oldest job of the name with the most jobs is dropped', () => {
  const { queue, late } = queueOf(['a/x/1', 'a/x/2', 'a/y/1', 'a/z/1'], { waitingMax: 100, perSourceMax: 3 })
  expect(late).toEqual(['a/x/1'])
  expect(queue.clear().sort()).toEqual(['a/x/2', 'a/y/1', 'a/z/1'])
})

it('beyond the total limit, a job of the source with the most jobs is dropped', () => {
  const { queue, late } = queueOf(['a/x/1', 'a/y/1', 'b/x/1', 'c/x/1'], { waitingMax: 3, perSourceMax: 3 })
  expect(late).toEqual(['a/x/1'])
  expect(queue.clear()).toEqual(['b/x/1', 'c/x/1', 'a/y/1'])
})
