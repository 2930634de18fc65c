import { expect, it } from 'vitest'
import { measureRto } from '../../../../src/lab/drills/load/measure.js'
import type { Attempt } from '../../../../src/lab/drills/load/client.js'

type Row = readonly [client: string, sentMs: number, endedMs: number, cluster: string, isAccepted: boolean]

const attempts = (...rows: readonly Row[]): Attempt[] =>
  rows
    .map(([client, sentMs, endedMs, cluster, isAccepted]): Attempt => {
      const kind = client.startsWith('login') ? 'new-login' : client.startsWith('reader') ? 'reader' : 'old-token'
      const action = kind === 'reader' ? 'read' : 'write'
      return { client, kind, action, sentMs, endedMs, cluster, isAccepted, reason: isAccepted ? '' : 'no' }
    })
    .sort((one, other) => one.endedMs - other.endedMs)

it('the RTO is zero without a rejection, and unknown for absent clients', () => {
  const rto = measureRto(attempts(['w1', 0, 1, 'A', true], ['w1', 2, 3, 'A', true]))
  expect(rto).toMatchObject({ ms: 0, fromMs: null, toMs: null, acceptedBy: null })
  expect(rto.byClient).toEqual({ 'old-token': { ms: 0, fromMs: null, toMs: null }, 'new-login': null, reader: null })
})

it('the RTO lasts from the first rejected write to the first one that the new primary accepts', () => {
  const rto = measureRto(
    attempts(
      ['w1', 0, 1, 'A', true],
      ['w2', 0, 1, 'A', true],
      ['login-1', 0, 1, 'A', true],
      ['w2', 90, 120, 'A', false],
      ['w1', 100, 101, 'A', false],
      ['login-1', 110, 111, 'A', false],
      ['w1', 130, 131, 'B', false],
      ['w1', 500, 510, 'B', true],
      ['w2', 505, 520, 'B', true],
      ['login-1', 600, 700, 'B', true],
    ),
  )
  expect(rto).toMatchObject({ ms: 420, fromMs: 90, toMs: 510, acceptedBy: 'B' })
  expect(rto.byClient['old-token']?.ms).toBe(420)
  expect(rto.byClient['new-login']?.ms).toBe(590)
})

it('the RTO is the longest of several interruptions', () => {
  const rto = measureRto(
    attempts(
      ['w1', 0, 1, 'A', true],
      ['w1', 10, 11, 'A', false],
      ['w1', 20, 21, 'B', true],
      ['w1', 100, 101, 'B', false],
      ['w1', 400, 401, 'A', true],
    ),
  )
  expect(rto).toMatchObject({ ms: 301, fromMs: 100, toMs: 401, acceptedBy: 'A' })
})

it('the RTO lasts until the last client is served again if no client moves', () => {
  const rto = measureRto(
    attempts(
      ['w1', 0, 1, 'A', true],
      ['w2', 0, 1, 'A', true],
      ['w1', 10, 11, 'A', false],
      ['w2', 12, 13, 'A', false],
      ['w1', 50, 51, 'A', true],
      ['w2', 90, 91, 'A', true],
    ),
  )
  expect(rto).toMatchObject({ ms: 81, acceptedBy: 'A' })
})

it('the RTO is unknown, not zero, if no client was served again', () => {
  const rto = measureRto(attempts(['w1', 0, 1, 'A', true], ['w1', 10, 11, 'A', false], ['w1', 20, 21, 'B', false]))
  expect(rto).toMatchObject({ ms: null, fromMs: 10, toMs: null, acceptedBy: null })
})

it('the RTO ends with the clients that move, even if others never return', () => {
  const rto = measureRto(
    attempts(
      ['w1', 0, 1, 'A', true],
      ['login-1', 0, 1, 'A', true],
      ['w1', 10, 11, 'A', false],
      ['login-1', 12, 13, 'A', false],
      ['login-1', 60, 70, 'C', true],
      ['w1', 80, 81, 'C', false],
    ),
  )
  expect(rto).toMatchObject({ ms: 60, fromMs: 10, toMs: 70, acceptedBy: 'C' })
  expect(rto.byClient['old-token']).toEqual({ ms: null, fromMs: 10, toMs: null })
})
