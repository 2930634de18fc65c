import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { LevelEngine } from '../../../src/storage/engine/level-engine.js'

/**
 * Measures group commits and scans of the level engine, without code of the server. Each writer waits until its write is
 * durable. At most one synced batch is in flight, and the next batch takes all waiting writes. A batch has one record for
 * each write, and one log record for all of them.
 */
interface CommitTask {
  readonly kind: 'commit'
  readonly writers: number
  readonly seconds: number
}

interface ScanTask {
  readonly kind: 'scan'
  readonly keys: number
}

const VALUE = Buffer.alloc(120, 7)
const KEYS = 10_000
const directory = mkdtempSync(path.join(tmpdir(), 'understudy-bench-'))
const engine = await LevelEngine.open({ directory, createIfMissing: true })

const commits = async ({ writers, seconds }: CommitTask): Promise<{ rate: number }> => {
  let waiting: (() => void)[] = []
  let isBusy = false
  let index = 0
  let done = 0
  const commit = async () => {
    isBusy = true
    while (waiting.length > 0) {
      const taken = waiting
      waiting = []
      const batch = engine.batch()
      for (const _ of taken) batch.put(`dbench/${index++ % KEYS}`, VALUE)
      batch.put(`w${String(index).padStart(14, '0')}`, Buffer.alloc(taken.length * VALUE.length, 7))
      await batch.write({ isDurable: true })
      for (const resolve of taken) resolve()
    }
    isBusy = false
  }
  const write = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (!isBusy) void Promise.resolve().then(commit)
      isBusy = true
    })
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  const writer = async () => {
    while (performance.now() < endMs) {
      await write()
      done++
    }
  }
  await Promise.all(Array.from({ length: writers }, writer))
  return { rate: (done * 1000) / (performance.now() - startMs) }
}

const scan = async ({ keys }: ScanTask): Promise<{ rate: number }> => {
  for (let first = 0; first < keys; first += 1000) {
    const batch = engine.batch()
    for (let n = first; n < first + 1000; n++) batch.put(`sscan/${String(n).padStart(8, '0')}`, VALUE)
    await batch.write({ isDurable: false })
  }
  const startMs = performance.now()
  let found = 0
  for await (const chunk of engine.scan({ gte: 'sscan/', lt: 'sscan0' })) found += chunk.length
  return { rate: (found * 1000) / (performance.now() - startMs) }
}

process.on('message', (task: CommitTask | ScanTask) => {
  const result = task.kind === 'commit' ? commits(task) : scan(task)
  result.then(
    (answer) => process.send?.(answer),
    () => process.exit(1),
  )
})
process.on('disconnect', () => {
  rmSync(directory, { recursive: true, force: true })
  process.exit(0)
})
