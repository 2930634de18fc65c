import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { AutoSnapshots, type SnapshotConfig } from '../../../src/core/system/auto-snapshots.js'
import { ManualClock } from '../../support/manual-clock.js'
import { MemoryStorage } from '../../support/memory-storage.js'
import { until } from '../../support/until.js'

/** Automated snapshots: their times, the files that remain, and failures. */
let directory: string
let clock: ManualClock
let stop: AbortController
let taken: number
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  clock = new ManualClock(1_700_000_000_000)
  stop = new AbortController()
  taken = 0
})
afterEach(() => {
  stop.abort()
  rmSync(directory, { recursive: true })
})

const storage = new MemoryStorage()

async function* snapshot(): AsyncGenerator<Buffer> {
  taken++
  yield Buffer.from('0123456789')
}

const start = async () => {
  const snapshots = new AutoSnapshots({ storage, snapshot, clock, log: silentLog })
  await snapshots.start(stop.signal)
  return snapshots
}

const config = (more: Partial<SnapshotConfig> = {}): SnapshotConfig => ({
  intervalSeconds: 60,
  retain: 2,
  directory,
  filePrefix: 'own',
  bytesMax: 1000,
  writtenAtMs: clock.now(),
  ...more,
})

/** Advances the clock by one interval, and waits for the attempt. */
const attempt = async (snapshots: AutoSnapshots) => {
  const before = snapshots.statusOf('a')?.startMs
  clock.advance(60_000)
  await until(() => snapshots.statusOf('a')?.startMs !== before)
  await snapshots.stop()
  return snapshots.statusOf('a')
}

test('each interval has one snapshot, and the oldest files are removed', async () => {
  const snapshots = await start()
  await snapshots.put('a', config())
  clock.advance(59_000)
  expect(taken).toBe(0)
  for (let round = 0; round < 3; round++) expect((await attempt(snapshots))?.error).toBe('')
  const files = readdirSync(directory).sort()
  expect(files).toHaveLength(2)
  expect(readFileSync(path.join(directory, files[1] ?? ''), 'utf8')).toBe('0123456789')
  await snapshots.put('a', undefined)
})

test('a snapshot that exceeds the space fails, leaves no file, and the status has the reason', async () => {
  const snapshots = await start()
  await snapshots.put('a', config({ bytesMax: 15 }))
  expect((await attempt(snapshots))?.error).toBe('')
  const failed = await attempt(snapshots)
  expect(failed?.error).toContain('local_max_space (15 bytes)')
  expect(readdirSync(directory)).toHaveLength(1)
  await snapshots.put('a', undefined)
})

test('a new active node continues the interval of the last file', async () => {
  const first = await start()
  await first.put('a', config())
  await attempt(first)
  stop.abort()
  stop = new AbortController()
  const second = await start()
  clock.advance(30_000)
  expect(second.statusOf('a')).toBeUndefined()
  clock.advance(30_000)
  await until(() => second.statusOf('a') !== undefined)
  await second.put('a', undefined)
})
