import { expect, it } from 'vitest'
import { findLastPosition, findLastPositionOf } from '../../../src/lab/daemon/last-position.js'
import type { LabEvent } from '../../../src/lab/events/event.js'
import {
  describeLoss,
  expectedLoss,
  isAccepted,
  isLevel,
  type LastPosition,
  parseAcceptedLoss,
} from '../../../src/lab/requests/expected-loss.js'
import { parseStatus } from '../../../src/lab/requests/replication-status.js'

const NOW_MS = Date.parse('2026-01-01T00:00:14Z')
const STREAMING = {
  mode: 'secondary',
  state: 'stream-wals',
  cluster_id: 'set',
  last_remote_wal: 45,
  primaries: [{ last_heartbeat: '2026-01-01T00:00:00Z' }],
}
const STOPPED: LastPosition = { set: 'set', epoch: 'one', lastWal: 57, isFinal: true }

const lossOf = ({ status = {}, announced = 45, last }: { status?: object; announced?: number; last?: LastPosition }) =>
  expectedLoss({
    ...{ secondary: parseStatus('dr', { ...STREAMING, ...status }), epoch: 'one' },
    ...{ announced, last, nowMs: NOW_MS },
  })

it('the loss of a failover is exact only if the lab recorded the end of the log', () => {
  expect(lossOf({ last: STOPPED })).toEqual({ entries: 12, isExact: true, silentSeconds: 14 })
  expect(lossOf({ last: { ...STOPPED, isFinal: false } })).toMatchObject({ entries: 12, isExact: false })
  expect(lossOf({ announced: 50 })).toMatchObject({ entries: 5, isExact: false })
  expect(lossOf({})).toMatchObject({ entries: 0, isExact: false })
  expect(lossOf({ status: { last_remote_wal: 57 }, last: STOPPED })).toMatchObject({ entries: 0, isExact: true })
})

it('the position of a primary of another set or epoch, or of a secondary outside its log, says nothing about the loss', () => {
  for (const { status, last } of [
    { status: {}, last: { ...STOPPED, set: 'other' } },
    { status: {}, last: { ...STOPPED, epoch: 'two' } },
    { status: { state: 'merkle-diff' }, last: STOPPED },
    { status: { state: 'idle' }, last: STOPPED },
    { status: { mode: 'bootstrapping' }, last: STOPPED },
  ])
    expect(lossOf({ status, last }), JSON.stringify(status)).toMatchObject({ entries: 0, isExact: false })
  expect(lossOf({ status: { primaries: [] } }).silentSeconds).toBeNull()
})

it('an unknown loss is accepted only as any loss', () => {
  const unknown = { entries: 0, isExact: false, silentSeconds: 14 }
  const atLeast = { ...unknown, entries: 12 }
  const exact = { ...atLeast, isExact: true }
  const level = { ...unknown, isExact: true }
  const accepted = (loss: typeof unknown) => ([0, 11, 12, 'any'] as const).map((most) => isAccepted(loss, most))
  expect(accepted(unknown)).toEqual([false, false, false, true])
  expect(accepted(atLeast)).toEqual([false, false, false, true])
  expect(accepted(exact)).toEqual([false, false, true, true])
  expect(accepted(level)).toEqual([true, true, true, true])
  expect([unknown, atLeast, exact, level].map(isLevel)).toEqual([false, false, false, true])
  expect([unknown, atLeast, exact].map(describeLoss)).toEqual([
    'may lose an unknown number of log entries',
    'loses at least 12 log entries',
    'loses 12 log entries',
  ])
})

it('an accepted loss is a whole number or any', () => {
  expect(['0', '12', 12, 'any'].map(parseAcceptedLoss)).toEqual([0, 12, 12, 'any'])
  for (const value of ['', '-1', '1.5', 'all', -1, 1.5, null])
    expect(() => parseAcceptedLoss(value), String(value)).toThrow('must be a number of log entries or "any"')
})

const event = (cluster: string | undefined, verb: string, position?: LastPosition): LabEvent => ({
  ...{ id: 1, time: '2026-01-01T00:00:00.000Z', lab: 'default', kind: 'command', cluster },
  details: { verb, ...(position && { position }) },
})

it('the last position of a primary is that of the command that took it down', () => {
  const crashed = { ...STOPPED, isFinal: false }
  const of = (...events: readonly LabEvent[]) => findLastPosition(events, 'A')
  expect(of(event('A', 'stop', STOPPED))).toEqual(STOPPED)
  expect(of(event('A', 'pause', crashed), event('A', 'crash')), 'a second command finds it down').toEqual(crashed)
  expect(of(event('A', 'stop', STOPPED), event('B', 'start'), event('C', 'crash', crashed))).toEqual(STOPPED)
  expect(of(event('A', 'stop', STOPPED), event('A', 'start'))).toBeUndefined()
  expect(of(event('A', 'stop', STOPPED), event(undefined, 'reset'))).toBeUndefined()
  expect(of(event('A', 'stop', STOPPED), event('A', 'start'), event('A', 'crash', crashed))).toEqual(crashed)
  expect(of(event('A', 'crash'), event('B', 'stop', STOPPED))).toBeUndefined()
  expect(of(event('A', 'stop', { ...STOPPED, epoch: '' })), 'an unknown epoch').toBeUndefined()
  const seen = (kind: 'process' | 'seal', to: string): LabEvent => ({ ...event('A', ''), kind, details: { to } })
  expect(of(event('A', 'stop', STOPPED), seen('process', 'stopped'))).toEqual(STOPPED)
  expect(of(event('A', 'stop', STOPPED), seen('process', 'running')), 'an interrupted start').toBeUndefined()
  expect(of(event('A', 'seal', crashed), seen('seal', 'sealed'))).toEqual(crashed)
  expect(of(event('A', 'seal', crashed), seen('seal', 'unsealed'))).toBeUndefined()
})

it('the last position of a replication set is that of the primary that was taken down last, until it starts', () => {
  const later = { ...STOPPED, lastWal: 90 }
  const of = (...events: readonly LabEvent[]) => findLastPositionOf(events, 'set')
  const stops = [event('A', 'stop', STOPPED), event('B', 'stop', later)]
  expect(of(...stops)).toEqual(later)
  expect(of(...stops, event('B', 'start'))).toBeUndefined()
  expect(of(...stops, event('C', 'stop', { ...later, set: 'other' }))).toEqual(later)
})
