import { randomBytes } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'
import { findInFiles, generationsOf, type Needles, storedWindows } from '../support/stored-bytes.js'

/**
 * A path filter keeps EU data in the EU (F7): set before a secondary joins, removed, and set again. The copied data
 * must then be removed from the disks of the secondary and of its DR copy.
 */
const clusters = openClusters()
let A: Cluster
let C: Cluster
let D: Cluster
/** Names without a common prefix, because LevelDB would shorten them. */
const euName = randomBytes(12).toString('hex')
const usName = randomBytes(12).toString('hex')
const FILTER = 'sys/replication/performance/primary/paths-filter/c'

beforeAll(async () => {
  A = await clusters.add('A')
  C = await clusters.add('C')
  D = await clusters.add('D')
})

const noRoute = (path: string) => `no handler for route "${path}". route entry found, but backend is nil.`

/** Returns the searched texts: the name of the secret, and every stored value of its mount. */
const needles = (): Needles => new Map([['the name of the EU secret', Buffer.from(euName.slice(4))], ...euValues])
let euValues: Needles = new Map()

/** Reads the stored values of the EU mount from the files of the primary, which must be stopped for this. */
const readStoredValues = async (): Promise<void> => {
  const { uuid } = (await A.client.read('sys/mounts'))['EU_data/'] as { uuid: string }
  await A.server.stop()
  euValues = new Map([...(await storedWindows(A.dataDir))].filter(([what]) => what.includes(`logical/${uuid}/`)))
  await A.reopen()
  expect(euValues.size).toBeGreaterThan(1)
}

const infoOf = async (cluster: Cluster): Promise<Record<string, unknown>> =>
  cluster.anonymous.call('GET', '/_understudy/v1/info')

const readSecret = async (on: Drill, cluster: Cluster, mount: string, name: string) => {
  const answer = await on.call(cluster, 'GET', `${mount}/data/${name}`)
  return { status: answer.status, errors: answer.errors, value: (answer.data.data as { v?: unknown } | undefined)?.v }
}

const untilHeldBack = (on: Drill, cluster: Cluster) =>
  on.wait(cluster, 'EU_data to be filtered', async () => {
    const { status, json } = await cluster.client.send('GET', `EU_data/data/${euName}`)
    return status === 404 && JSON.stringify(json).includes('backend is nil') ? undefined : `it answers ${status}`
  })

const untilPurged = (on: Drill, cluster: Cluster) =>
  on.wait(cluster, 'the purge', async () =>
    (await infoOf(cluster)).purge_pending === false ? undefined : 'it is pending',
  )

const untilGone = (on: Drill, cluster: Cluster) =>
  on.wait(cluster, 'the bytes to be gone', async () => {
    const found = findInFiles(cluster.dataDir, needles())
    return found.size === 0 ? undefined : [...found].join()
  })

it('F7: a filter withholds data from a secondary that joins later', () =>
  drill('F7 filter before joining', async (on) => {
    for (const mount of ['EU_data', 'US_data']) {
      await on.ok(A, 'POST', `sys/mounts/${mount}`, { type: 'kv', options: { version: '2' } })
    }
    await on.change(A, 'performance/primary/enable', {}, 'is being enabled as a primary')
    await on.status(A, 'performance', { mode: 'primary' })
    await A.untilServes()
    const token = await on.token(A, 'performance', 'c')
    expect((await on.ok(A, 'POST', FILTER, { mode: 'deny', paths: ['EU_data/'] })).status).toBe(204)
    await on.change(C, 'performance/secondary/enable', { token }, 'has successfully found')
    C.seal = { ...A.seal, rootToken: '' }
    await on.status(C, 'performance', { mode: 'secondary', state: 'stream-wals' })
    await clusters.takeRoot(C)
    await clusters.join(C, D, 'dr', 'dr-d')
    await on.ok(A, 'PUT', `EU_data/data/${euName}`, { data: { v: 'eu' } })
    await on.ok(A, 'PUT', `US_data/data/${usName}`, { data: { v: 'us' } })
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')

    expect(await readSecret(on, C, 'US_data', usName)).toMatchObject({ status: 200, value: 'us' })
    const eu = `EU_data/data/${euName}`
    await on.refused(C, 'GET', eu, undefined, 404, noRoute(eu))
    await on.refused(C, 'PUT', eu, { data: { v: 'no' } }, 404, noRoute(eu))
    expect((await on.ok(C, 'GET', 'sys/mounts')).data['EU_data/']).toBeUndefined()
    expect((await on.ok(A, 'GET', FILTER)).data).toEqual({ mode: 'deny', paths: ['EU_data/'] })
    await readStoredValues()
    for (const cluster of [C, D]) expect([...findInFiles(cluster.dataDir, needles())], cluster.name).toEqual([])
    expect([...findInFiles(A.dataDir, needles())], 'the search finds what is there').toHaveLength(needles().size)
  }))

it('F7: a secondary shows the data after the filter is removed', () =>
  drill('F7 filter lifted', async (on) => {
    expect((await on.ok(A, 'DELETE', FILTER)).status).toBe(204)
    await on.wait(C, 'the EU secret', async () => {
      const { status } = await C.client.send('GET', `EU_data/data/${euName}`)
      return status === 200 ? undefined : `it answers ${status}`
    })
    expect(await readSecret(on, C, 'EU_data', euName)).toMatchObject({ status: 200, value: 'eu' })
    await on.refused(A, 'GET', FILTER, undefined, 404, '')
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')
    for (const cluster of [C, D])
      expect([...findInFiles(cluster.dataDir, needles())], cluster.name).toHaveLength(needles().size)
  }))

it('F7: a filter that is set again destroys the data on the secondary and its DR copy', () =>
  drill('F7 filter added to a joined secondary', async (on) => {
    const before = generationsOf(C.dataDir)
    const startedMs = on.elapsedMs
    expect((await on.ok(A, 'POST', FILTER, { mode: 'deny', paths: ['EU_data'] })).status).toBe(204)
    await untilHeldBack(on, C)
    on.note(`filtered ${Math.round(on.elapsedMs - startedMs)} ms after the answer`)
    for (const cluster of [C, D]) {
      await untilGone(on, cluster)
      await untilPurged(on, cluster)
    }
    on.note(`gone from both disks ${Math.round(on.elapsedMs - startedMs)} ms after the answer`)
    expect(generationsOf(C.dataDir)).not.toEqual(before)
    await C.untilServes()
    const eu = `EU_data/data/${euName}`
    await on.refused(C, 'GET', eu, undefined, 404, noRoute(eu))
    expect(await readSecret(on, C, 'US_data', usName)).toMatchObject({ status: 200, value: 'us' })
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')

    on.step('writes to the filtered mount go on, and leave no trace on the secondary')
    await on.ok(A, 'PUT', `EU_data/data/${euName}`, { data: { v: 'eu 2' } })
    await on.ok(A, 'PUT', `US_data/data/${usName}`, { data: { v: 'us 2' } })
    await on.wait(C, 'the US secret', async () => {
      const { value } = await readSecret(on, C, 'US_data', usName)
      return value === 'us 2' ? undefined : String(value)
    })
    await checkMonitoring(on, A, C, 'performance', 'c')
    for (const cluster of [C, D]) expect([...findInFiles(cluster.dataDir, needles())], cluster.name).toEqual([])

    on.step('a kill and a restart find it gone, too')
    await C.server.crash()
    await C.reopen()
    await C.untilServes()
    await on.refused(C, 'GET', eu, undefined, 404, noRoute(eu))
    await checkMonitoring(on, A, C, 'performance', 'c')
  }))

it('F7: filtered data is destroyed even if the secondary is killed and its DR copy was unreachable', () =>
  drill('F7 crash before the purge', async (on) => {
    await on.ok(A, 'DELETE', FILTER)
    await on.wait(C, 'the EU secret', async () => {
      const { status } = await C.client.send('GET', `EU_data/data/${euName}`)
      return status === 200 ? undefined : `it answers ${status}`
    })
    await readStoredValues()
    await clusters.untilReplicated(A, C, 'performance')
    await clusters.untilReplicated(C, D, 'dr')
    for (const cluster of [C, D])
      expect(findInFiles(cluster.dataDir, needles()).size, cluster.name).toBe(needles().size)

    on.step('D is away; C is held while it deletes, and killed')
    await D.server.stop()
    await on.ok(C, 'POST', '/_understudy/v1/states/hold', { state: 'merkle-sync', kind: 'performance' })
    await on.ok(A, 'POST', FILTER, { mode: 'deny', paths: ['EU_data'] })
    await on.status(C, 'performance', { state: 'merkle-sync' })
    await untilHeldBack(on, C)
    expect(await infoOf(C)).toMatchObject({ purge_pending: true })
    expect(findInFiles(C.dataDir, needles()).size).toBe(needles().size)
    await C.server.crash()

    on.step('both come back, and both disks are rid of it')
    await C.reopen()
    await D.reopen()
    for (const cluster of [C, D]) {
      await untilGone(on, cluster)
      await untilPurged(on, cluster)
    }
    await C.untilServes()
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')
  }))

it('F7: an allow filter shows only listed mounts, and both sides report the dynamically affected mounts', () =>
  drill('F7 allow', async (on) => {
    await on.ok(A, 'DELETE', FILTER)
    await on.wait(C, 'the EU secret', async () => {
      const { status } = await C.client.send('GET', `EU_data/data/${euName}`)
      return status === 200 ? undefined : `it answers ${status}`
    })
    expect((await on.ok(A, 'POST', FILTER, { mode: 'allow', paths: ['US_data/', 'ns1/'] })).warnings[0]).toContain(
      'ns1/',
    )
    await untilHeldBack(on, C)
    await untilPurged(on, C)
    await C.untilServes()
    expect(await readSecret(on, C, 'US_data', usName)).toMatchObject({ status: 200, value: 'us 2' })
    await on.ok(A, 'POST', 'sys/namespaces/ns1', {})
    await on.ok(A, 'POST', 'sys/mounts/inner', { type: 'kv' }, { headers: { 'X-Vault-Namespace': 'ns1' } })
    const wanted = { dynamic_filtered_mounts: ['ns1/inner/'], dynamic_filtered_namespaces: [] }
    const path = (side: string) => `sys/replication/performance/${side}/dynamic-filter/c`
    expect((await on.ok(A, 'GET', path('primary'))).data).toEqual(wanted)
    await on.wait(C, 'the same list', async () => {
      const { json } = await C.client.send('GET', path('secondary'))
      return JSON.stringify(json?.data) === JSON.stringify(wanted) ? undefined : JSON.stringify(json)
    })
    await checkMonitoring(on, A, C, 'performance', 'c')
  }))
