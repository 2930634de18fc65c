import { expect, test } from 'vitest'
import { type Log, silentLog } from '../../../../src/base/log.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { createSeededRandom } from '../../../../src/base/random.js'
import { StandbyCopy } from '../../../../src/server/runtime/standby-copy.js'

/** How a standby gets its copy, and how it discards the copy. */

const createDeferred = <T>() => {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** Advances the clock by half a second, and lets waiting work continue. */
const pass = async (clock: ManualClock, ms = 500) => {
  clock.advance(ms)
  await new Promise((resolve) => setImmediate(resolve))
}

const openWorld = (open: () => Promise<FakeCluster>) => {
  const clock = new ManualClock()
  const said: string[] = []
  const log: Log = {
    ...silentLog,
    info: (text) => void said.push(`info ${text}`),
    error: (text) => void said.push(`error ${text}`),
  }
  return { clock, said, copy: new StandbyCopy({ open, clock, random: createSeededRandom('copy'), log }) }
}

class FakeCluster {
  readonly replication = { view: { isReadable: true } }
  isClosed = false
  readonly #closing: Promise<void>

  constructor(closing: Promise<void> = Promise.resolve()) {
    this.#closing = closing
  }

  async close(): Promise<void> {
    await this.#closing
    this.isClosed = true
  }
}

test('a copy that cannot be opened is retried with backoff, and logged', async () => {
  const cluster = new FakeCluster()
  let attempts = 0
  const { clock, said, copy } = openWorld(async () => {
    if (++attempts < 4) throw new Error('not yet')
    return cluster
  })
  await copy.open()
  expect([attempts, copy.readable]).toEqual([1, undefined])
  while (!copy.readable) await pass(clock)
  expect([attempts, copy.readable]).toEqual([4, cluster])
  // Pauses of half a second each would have taken less time.
  expect(clock.monotonic()).toBeGreaterThan(2000)
  expect(said.filter((text) => text.startsWith('error'))).toHaveLength(3)
  expect(said.at(-1)).toMatch(/^info/)
  await copy.close()
  expect(cluster.isClosed).toBe(true)
})

test('a discarded copy is not retried, and a pending open is closed', async () => {
  const opened = createDeferred<FakeCluster>()
  let attempts = 0
  const { clock, copy } = openWorld(async () => {
    if (++attempts === 1) throw new Error('not yet')
    return opened.promise
  })
  await copy.open()
  while (attempts < 2) await pass(clock)
  copy.discard()
  const closed = copy.close()
  const cluster = new FakeCluster()
  opened.resolve(cluster)
  await closed
  expect([cluster.isClosed, copy.readable]).toEqual([true, undefined])
  await pass(clock, 600_000)
  expect(attempts).toBe(2)
})

test('discarding a copy does not wait; closing it does', async () => {
  const slow = createDeferred<void>()
  const { copy } = openWorld(async () => new FakeCluster(slow.promise))
  await copy.open()
  const cluster = copy.readable
  copy.discard()
  expect([copy.readable, cluster?.isClosed]).toEqual([undefined, false])
  slow.resolve()
  await copy.close()
  expect(cluster?.isClosed).toBe(true)
})
