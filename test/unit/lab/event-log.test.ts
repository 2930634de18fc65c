import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { describeEvent } from '../../../src/lab/daemon/describe.js'
import type { EventDraft, LabEvent } from '../../../src/lab/events/event.js'
import { EventLog, readEvents } from '../../../src/lab/events/event-log.js'

let directory = ''

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-events-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

const open = () => new EventLog({ lab: 'one', directory, clock: systemClock })
const file = () => path.join(directory, 'events.jsonl')
const note = (text: string): EventDraft => ({ kind: 'note', details: { text } })
const texts = () => readEvents(directory).map(({ details }) => details.text)

it('the event log keeps events and numbers over restarts, readable by the owner only', () => {
  const first = open()
  expect(first.append(note('a'))).toMatchObject({ id: 1, lab: 'one', kind: 'note', details: { text: 'a' } })
  first.append({ ...note('b'), cluster: 'A', command: 'understudy crash A' })
  const second = open()
  expect(second.append(note('c')).id).toBe(3)
  expect(second.after(1).map(({ id }) => id)).toEqual([2, 3])
  expect(texts()).toEqual(['a', 'b', 'c'])
  expect(statSync(file()).mode & 0o777).toBe(0o600)
})

it('the event log gives out no number before it is in the file, so that none repeats after a kill', () => {
  const first = open()
  const inFile: (number | undefined)[] = []
  first.listen(({ id }) => inFile.push(readEvents(directory).at(-1)?.id, id))
  first.append(note('a'))
  first.append(note('b'))
  expect(inFile).toEqual([1, 1, 2, 2])
  expect(open().append(note('c')).id).toBe(3)
})

it('the event log continues after half a line and after invalid lines', () => {
  const first = open()
  for (const text of ['a', 'b']) first.append(note(text))
  truncateSync(file(), statSync(file()).size - 10)
  const second = open()
  expect(second.append(note('c')).id).toBe(2)
  appendFileSync(file(), `${'\0'.repeat(50)}\n{"id":"7"}\nnull\n`)
  const third = open()
  expect(third.append(note('d')).id).toBe(3)
  expect(texts()).toEqual(['a', 'c', 'd'])
})

it('the event log continues its numbers after 300 KiB of damage at the end of its file', () => {
  const first = open()
  first.append(note('a'))
  appendFileSync(file(), `${'x'.repeat(300 * 1024)}\n`)
  expect(open().append(note('b')).id).toBe(2)
})

it('the event log stays in memory while the disk fails, and writes again afterwards', () => {
  const log = open()
  log.append(note('a'))
  // The directory of a lab that is being removed; for a writer this is the same as a full disk.
  rmSync(directory, { recursive: true })
  log.append(note('b'))
  expect(log.after(0)).toHaveLength(2)
  mkdirSync(directory)
  log.append(note('c'))
  expect(texts()).toEqual(['c'])
  expect(log.after(0)).toHaveLength(3)
})

it('the event log is limited in memory and on disk', () => {
  const log = open()
  for (let count = 0; count < 1500; count++) log.append(note('x'.repeat(100)))
  expect(log.after(0)).toHaveLength(1000)
  expect(log.after(0)[0]?.id).toBe(501)
  expect(() => log.append(note('x'.repeat(20_000)))).toThrow('the event has 20093 characters, but the maximum is 16384')
  for (let count = 0; count < 200; count++) log.append(note('x'.repeat(15_000)))
  const kept = log.after(0).reduce((sum, { line }) => sum + line.length, 0)
  expect(kept).toBeLessThanOrEqual(1024 * 1024)

  const small = new EventLog({ lab: 'one', directory, clock: systemClock, fileBytesMax: 1000 })
  const last = Array.from({ length: 100 }, () => small.append(note('y')).id).at(-1)
  const left = readEvents(directory).map(({ id }) => id)
  expect(left.at(-1)).toBe(last)
  expect(left.length).toBeLessThan(40)
  expect(left).toEqual([...left].sort((one, other) => one - other))
})

it('the event log starts empty if its file cannot be read', () => {
  mkdirSync(file())
  expect(open().append(note('a')).id).toBe(1)
})

it('the event log describes every event in one line, whatever its text', () => {
  const event: LabEvent = { id: 1, time: '2026-01-01T12:03:04.123Z', lab: 'one', kind: 'role', details: {} }
  expect(
    describeEvent({ ...event, cluster: 'B', details: { replication: 'dr', from: 'secondary', to: 'primary' } }),
  ).toBe('12:03:04.123 B  role           dr: secondary -> primary')
  const active = { id: 3, between: ['A', 'C'], isOneWay: true, fault: { name: 'latency', ms: 80 } }
  const drill = { drill: 'x', step: 'the primary is lost', verb: 'crash', size: 3 }
  expect(describeEvent({ ...event, kind: 'drill', details: drill })).toMatch(
    / drill=x step="the primary is lost" verb=crash size=3$/,
  )
  expect(describeEvent({ ...event, kind: 'drill', details: { ...drill, phase: 'begins' } })).toMatch(
    / drill {10}x, the primary is lost: begins$/,
  )
  expect(describeEvent({ ...event, kind: 'fault-set', details: active })).toContain('3: A -> C, latency 80 ms')
  expect(describeEvent({ ...event, kind: 'fault-set', details: { id: 1 } })).toContain('id=1')
})
