import { expect, it } from 'vitest'
import {
  type ClusterLoss,
  countLost,
  describeLost,
  describeRestored,
  newLosses,
  restoredBy,
  unlistedLosses,
} from '../../../src/lab/requests/losses.js'

const lossOf = (firstIndex: number, ...paths: readonly string[]): ClusterLoss => ({
  ...{
    epoch: 'e',
    firstIndex,
    lastIndex: firstIndex + paths.length - 1,
    reason: 'test',
    entriesBeyond: 0,
    framesBeyond: 0,
  },
  entries: paths.map((path, at) => ({ index: firstIndex + at, path, operation: 'put' })),
})

it('a new loss is one that the cluster did not list before', () => {
  const [old, added] = [lossOf(1, 'kv/a'), lossOf(8, 'kv/b', 'kv/c')]
  expect(newLosses([old], [old, added])).toEqual([added])
  expect(newLosses([old, added], [added])).toEqual([])
  expect(countLost(newLosses([], [old, added]))).toBe(3)
})

it('the number of lost log entries is the number on the lists, not the size of their ranges', () => {
  const twoOperations = { ...lossOf(5, 'kv/data/a', 'kv/metadata/a'), firstIndex: 5, lastIndex: 380 }
  const ofOneEntry = { ...twoOperations, entries: twoOperations.entries.map((entry) => ({ ...entry, index: 5 })) }
  expect(countLost([ofOneEntry])).toBe(1)
  const unlisted = { ...ofOneEntry, entries: [] }
  expect([countLost([unlisted]), unlistedLosses([ofOneEntry, unlisted])]).toEqual([0, [unlisted]])
  const longer = { ...ofOneEntry, entriesBeyond: 9000 }
  expect([countLost([longer]), countLost([{ ...longer, entriesBeyond: 30 }])]).toEqual([376, 31])
})

it('the description of a loss names the first paths, and none that the server hides', () => {
  expect(describeLost([lossOf(1, 'kv/a', 'kv/b')])).toBe('2 log entries (kv/a, kv/b)')
  expect(describeLost([lossOf(1, 'kv/a', 'kv/b', 'kv/c'), lossOf(8, 'kv/a', 'kv/d', 'kv/e')])).toBe(
    '6 log entries (kv/a, kv/b, kv/c and 2 more)',
  )
  expect(describeLost([lossOf(1, '', '')])).toBe('2 log entries')
})

it('the description of a loss counts the credentials that came back, by type', () => {
  const entryOf = (credential: 'token' | 'secret_id' | null) =>
    ({ index: 1, path: '', operation: 'delete', credential }) as const
  const loss = { ...lossOf(1), entries: (['token', 'secret_id', null, 'token'] as const).map(entryOf) }
  expect(describeRestored(restoredBy([loss]))).toBe('2 tokens, 1 SecretID')
  expect(describeRestored(restoredBy([lossOf(1, 'kv/a')])), 'an older server does not report them').toBe('')
})
