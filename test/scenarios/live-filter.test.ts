import { randomBytes } from 'node:crypto'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { forEachOf } from '../support/load.js'
import { findInFiles, generationsOf, type Needles, storedWindows } from '../support/stored-bytes.js'
import type { ApiAnswer } from '../../src/client/api-client.js'
import { repeat, type Repetition } from '../support/repeat.js'

interface AnswerWatch extends Repetition {
  /** Responses with an unexpected status, and requests without a response: only the first ones. */
  readonly wrong: readonly string[]
}

/** A server that is down causes thousands of failures per second. */
const WRONG_MAX = 100

/** Repeats a request, one at a time, until it is stopped. */
const watchAnswers = (
  what: string,
  expected: number,
  ask: (n: number) => Promise<Pick<ApiAnswer, 'status' | 'bytes'>>,
): AnswerWatch => {
  const wrong: string[] = []
  const repetition = repeat(async (n) => {
    const { status, bytes } = await ask(n).catch((error: unknown) => ({ status: 0, bytes: String(error) }))
    if (status !== expected && wrong.length < WRONG_MAX)
      wrong.push(`${what}: ${status} ${bytes.toString().slice(0, 200)}`)
  })
  return Object.assign(repetition, { wrong })
}

/**
 * A filter is set and removed while its secondary C and the DR copy D of C are in use, with much data inside and
 * outside of the filter. No request may fail, and filtered data must be in no file afterwards.
 */
const VALUES = 1200
const VALUE_BYTES = 10_000
/** Number of values whose stored bytes are searched. */
const SAMPLES = 12
const FILTER = 'sys/replication/performance/primary/paths-filter/c'

const clusters = openClusters()
let A: Cluster
let C: Cluster
let D: Cluster
let samples: Needles = new Map()

beforeAll(async () => {
  A = await clusters.add('A')
  C = await clusters.add('C')
  D = await clusters.add('D')
  const { client } = A
  for (const mount of ['eu', 'us']) {
    await client.write(`sys/mounts/${mount}`, { type: 'kv', options: { version: '1' } })
    await forEachOf(Array(VALUES).keys(), 16, async (n) => {
      await client.write(`${mount}/${n}`, { v: randomBytes(VALUE_BYTES).toString('hex') })
    })
  }
  await clusters.join(A, C, 'performance', 'c')
  await clusters.join(C, D, 'dr', 'd')
  await C.client.write('sys/mounts/here', { type: 'kv', local: true, options: { version: '1' } })
  await readSamples()
})

/** The watches of the running drill. */
let watches: ReadonlyMap<string, AnswerWatch> = new Map()

/** A failed drill must not leave its watches running. */
afterEach(async () => {
  for (const watch of watches.values()) await watch.stop()
})

/** Reads some stored values of the mount from the files of the primary, which must be stopped for this. */
const readSamples = async (): Promise<void> => {
  const { uuid } = (await A.client.read('sys/mounts'))['eu/'] as { uuid: string }
  await A.server.stop()
  const found = [...(await storedWindows(A.dataDir))].filter(([what]) => what.includes(`logical/${uuid}/`))
  samples = new Map(found.filter((_, at) => at % Math.ceil(found.length / SAMPLES) === 0))
  await A.reopen()
  await clusters.untilReplicated(A, C, 'performance')
  expect(samples.size).toBeGreaterThan(SAMPLES / 2)
}

const watchAll = (acknowledged: Set<string>): void => {
  watches = new Map([
    ['reads on C', watchAnswers('read', 200, (n) => C.client.send('GET', `us/${n % VALUES}`))],
    [
      'local writes on C',
      watchAnswers('local write', 204, async (n) => {
        const path = `here/${n}`
        const answer = await C.client.send('PUT', path, { body: { v: path } })
        if (answer.status === 204) acknowledged.add(path)
        return answer
      }),
    ],
    ['health of C', watchAnswers('health', 200, () => C.anonymous.send('GET', 'sys/health'))],
    ['health of D', watchAnswers('health', 472, () => D.anonymous.send('GET', 'sys/health'))],
    ['status of D', watchAnswers('status', 200, () => D.anonymous.send('GET', 'sys/replication/dr/status'))],
  ])
}

const isPending = async (cluster: Cluster): Promise<boolean> => {
  const { purge_pending } = await cluster.anonymous.call('GET', '/_understudy/v1/info')
  return purge_pending === true
}

const untilHeldBack = (on: Drill) =>
  on.wait(C, 'the mount to be filtered', async () => {
    const { status } = await C.client.send('GET', 'eu/1')
    return status === 404 ? undefined : `it answers ${status}`
  })

const untilPurged = (on: Drill, cluster: Cluster) =>
  on.wait(cluster, 'the purge', async () => ((await isPending(cluster)) ? 'it is pending' : undefined))

/** Removes the filter, and waits until C and D have all data again. */
const lift = async (on: Drill): Promise<void> => {
  await on.ok(A, 'DELETE', FILTER)
  await on.wait(C, 'the mount', async () => {
    const { status } = await C.client.send('GET', 'eu/1')
    return status === 200 ? undefined : `it answers ${status}`
  })
  await clusters.untilReplicated(A, C, 'performance')
  await clusters.untilReplicated(C, D, 'dr')
}

/** Sets the filter, and waits until C is in the middle of the purge that follows. */
const putUntilPurging = async (on: Drill): Promise<void> => {
  await on.ok(A, 'POST', FILTER, { mode: 'deny', paths: ['eu'] })
  await on.wait(C, 'the purge to begin', async () =>
    generationsOf(C.dataDir).length > 1 ? undefined : 'one generation',
  )
}

const untilDestroyed = (on: Drill, cluster: Cluster, before: readonly number[]) =>
  on.wait(cluster, 'the purge', async () => {
    const generations = generationsOf(cluster.dataDir)
    if (generations.length > 1 || generations[0] === before[0]) return `generations ${generations}`
    return (await isPending(cluster)) ? 'it is pending' : undefined
  })

const stopAll = async (on: Drill): Promise<void> => {
  for (const watch of watches.values()) await watch.stop()
  for (const [what, watch] of watches) {
    on.note(`${what}: ${watch.count} requests, the slowest took ${Math.round(watch.slowestMs)} ms`)
    expect(watch.wrong.slice(0, 5), what).toEqual([])
    expect(watch.count, what).toBeGreaterThan(10)
  }
}

const expectNoTrace = (): void => {
  for (const cluster of [C, D]) expect([...findInFiles(cluster.dataDir, samples)], cluster.name).toEqual([])
}

const startOf = async (cluster: Cluster, kind: 'dr' | 'performance') => (await cluster.status(kind)).last_start

it('a secondary serves, writes locally and streams while filtered data is destroyed', () =>
  drill('a filter put on a secondary in use', async (on) => {
    for (const cluster of [C, D]) {
      expect(findInFiles(cluster.dataDir, samples).size, cluster.name).toBe(samples.size)
    }
    on.step('how long the same takes without a purge')
    watchAll(new Set())
    await on.wait(C, 'some answers', async () =>
      [...watches.values()].every(({ count }) => count > 200) ? undefined : 'few',
    )
    await stopAll(on)
    on.step('with a purge')
    const before = { C: generationsOf(C.dataDir), D: generationsOf(D.dataDir) }
    const starts = [await startOf(C, 'performance'), await startOf(D, 'dr')]
    const written = new Set<string>()
    watchAll(written)
    await on.ok(A, 'POST', FILTER, { mode: 'deny', paths: ['eu'] })
    await untilHeldBack(on)
    await on.write(A, 'us/during', 'streamed')
    await untilDestroyed(on, C, before.C)
    await untilDestroyed(on, D, before.D)
    await stopAll(on)
    expectNoTrace()
    expect([await startOf(C, 'performance'), await startOf(D, 'dr')], 'nothing was started anew').toEqual(starts)
    await clusters.untilReplicated(A, C, 'performance')
    await clusters.untilReplicated(C, D, 'dr')
    await on.reads(C, 'us/during', 'streamed')

    on.step('every local write that was acknowledged is there, also after a kill')
    await C.server.crash()
    await C.reopen()
    await C.untilServes()
    await forEachOf(written, 16, async (path) => {
      const { status } = await C.client.send('GET', path)
      expect(status, path).toBe(200)
    })
    on.note(`${written.size} local writes during the purge`)
    await clusters.untilReplicated(A, C, 'performance')
    await clusters.untilReplicated(C, D, 'dr')
    expectNoTrace()
  }))

it('a secondary handles a second filter, its removal and a restart during a purge', () =>
  drill('filters changed amid a purge', async (on) => {
    await lift(on)
    await on.write(A, 'us/small', 'stays')
    await on.ok(A, 'POST', 'sys/mounts/fr', { type: 'kv', options: { version: '1' } })
    for (let n = 0; n < 50; n++) await A.client.write(`fr/${n}`, { v: 'fr' })
    await clusters.untilReplicated(A, C, 'performance')

    watchAll(new Set())
    await putUntilPurging(on)
    await on.ok(A, 'POST', FILTER, { mode: 'deny', paths: ['eu', 'fr'] })
    await on.wait(C, 'fr to be filtered', async () => {
      const { status } = await C.client.send('GET', 'fr/1')
      return status === 404 ? undefined : `it answers ${status}`
    })
    await untilPurged(on, C)
    await clusters.untilReplicated(A, C, 'performance')
    await clusters.untilReplicated(C, D, 'dr')
    await untilPurged(on, D)
    await stopAll(on)
    expectNoTrace()

    on.step('killed amid a purge, C goes on with it')
    await lift(on)
    await putUntilPurging(on)
    await C.server.crash()
    await C.reopen()
    await untilPurged(on, C)
    await clusters.untilReplicated(A, C, 'performance')
    await clusters.untilReplicated(C, D, 'dr')
    await untilPurged(on, D)
    expectNoTrace()
    await on.reads(C, 'us/small', 'stays')
  }))

it('a purge continues after a promotion of the secondary', () =>
  drill('promoted amid a purge', async (on) => {
    await lift(on)
    await putUntilPurging(on)
    await on.change(C, 'performance/secondary/promote', { force: true }, 'is being promoted')
    await on.status(C, 'performance', { mode: 'primary' })
    await C.untilServes()
    for (const cluster of [C, D]) await untilPurged(on, cluster)
    await clusters.untilReplicated(C, D, 'dr')
    await untilPurged(on, D)
    expectNoTrace()
    await on.reads(C, 'us/small', 'stays')
  }))
