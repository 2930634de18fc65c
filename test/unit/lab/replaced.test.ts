import { expect, it } from 'vitest'
import { parseStatus, type Status } from '../../../src/lab/requests/replication-status.js'
import { findReplaced } from '../../../src/lab/status/replaced.js'

const ofKind = (kind: 'dr' | 'performance', name: string, status: Status, health = 200) => ({
  ...{ name, health },
  dr: parseStatus('dr', kind === 'dr' ? status : { mode: 'disabled' }),
  performance: parseStatus('performance', kind === 'performance' ? status : { mode: 'disabled' }),
})

const PRIMARY = { mode: 'primary', cluster_id: 'set', merkle_root: 'new' }
const DEMOTED = { mode: 'secondary', cluster_id: 'set', merkle_root: 'old', state: 'idle' }
const REPLACED = [{ name: 'A', kind: 'dr', successor: 'B' }]

it('the replaced one of two primaries rejects writes or has registered the other as its secondary', () => {
  const successor = ofKind('dr', 'B', PRIMARY)
  expect(findReplaced([ofKind('dr', 'A', PRIMARY, 503), successor])).toEqual(REPLACED)
  expect(findReplaced([ofKind('dr', 'A', { ...PRIMARY, known_secondaries: ['dr-b'] }), successor])).toEqual(REPLACED)
  const replaced = ofKind('performance', 'A', { ...PRIMARY, known_secondaries: ['perf-c'] })
  expect(findReplaced([replaced, ofKind('performance', 'C', PRIMARY)])).toEqual([
    { name: 'A', kind: 'performance', successor: 'C' },
  ])
})

it('after a failover of a DR and performance primary, its successor is replaced in neither replication set', () => {
  const performance = parseStatus('performance', { ...PRIMARY, cluster_id: 'shared' })
  const former = { ...ofKind('dr', 'A', { ...PRIMARY, known_secondaries: ['dr-b'] }), performance }
  expect(findReplaced([former, { ...ofKind('dr', 'B', PRIMARY), performance }])).toEqual(REPLACED)
})

it('if nothing shows which of two primaries is newer, each of them may have lost entries', () => {
  const both = findReplaced([ofKind('dr', 'A', PRIMARY), ofKind('dr', 'B', PRIMARY)])
  expect(both).toEqual([...REPLACED, { name: 'B', kind: 'dr', successor: 'A' }])
})

it('a demoted primary is replaced if its data differs from the primary of its set', () => {
  const successor = ofKind('dr', 'B', PRIMARY)
  expect(findReplaced([ofKind('dr', 'A', DEMOTED), successor])).toEqual(REPLACED)
  expect(findReplaced([ofKind('dr', 'A', { ...DEMOTED, merkle_root: 'new' }), successor])).toEqual([])
})

it('a secondary that follows a primary, and the primary of another set, are not replaced', () => {
  const follower = ofKind('dr', 'A', { ...DEMOTED, primary_cluster_addr: 'https://b:8201' })
  expect(findReplaced([follower, ofKind('dr', 'B', PRIMARY)])).toEqual([])
  const other = ofKind('dr', 'A', { ...PRIMARY, cluster_id: 'other' })
  expect(findReplaced([other, ofKind('dr', 'B', PRIMARY)])).toEqual([])
})
