import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { untilTrimmed } from '../support/log-reach.js'
import { checkMonitoring } from '../support/monitoring.js'

/** Secondaries that lag behind the log (F13), and trees that do not match their data (F20). */
const RETENTION = 16
const MISSED = 60

const clusters = openClusters()
let A: Cluster
let B: Cluster
let C: Cluster

beforeAll(async () => {
  const settings = { wal_retention_entries: RETENTION }
  A = await clusters.add('A', { settings, hasLink: true })
  B = await clusters.add('B', { settings })
  C = await clusters.add('C', { settings })
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  for (let n = 0; n < 100; n++) await A.client.write(`kv/old-${n}`, { value: n })
  await clusters.join(A, C, 'performance', 'c')
  await clusters.join(A, B, 'dr', 'dr-b')
})

const LAB = '/_understudy/v1'

/** Returns all values below `kv/` as a cluster returns them. */
const allData = async (on: Drill, cluster: Cluster): Promise<ReadonlyMap<string, unknown>> => {
  const keys = (await on.ok(cluster, 'LIST', 'kv')).data.keys as string[]
  const values = new Map<string, unknown>()
  for (const key of keys) values.set(key, (await cluster.client.read(`kv/${key}`)).data)
  return values
}

it('F20: a check finds a corrupt tree, and a reindex repairs it', () =>
  drill('F20 merkle corruption', async (on) => {
    const page = 42
    await checkMonitoring(on, A, C, 'performance', 'c')
    const dataBefore = await allData(on, C)
    const clean = await on.ok(C, 'POST', 'sys/replication/merkle-check')
    expect(clean.data.merkle_corruption_report).toMatchObject({ corrupted_root: false })
    await on.ok(C, 'POST', `${LAB}/faults/corrupt`, { tree: 'replicated', page })
    const found = await on.ok(C, 'POST', 'sys/replication/merkle-check')
    const report = found.data.merkle_corruption_report as {
      corrupted_root: boolean
      corrupted_tree_map: Record<string, { corrupted_subtree_root: boolean; corrupted_index_tuples_map: unknown }>
    }
    expect(report.corrupted_root).toBe(true)
    expect(report.corrupted_tree_map['1']).toMatchObject({
      corrupted_subtree_root: true,
      corrupted_index_tuples_map: { [page]: { corrupted: true, subpages: expect.arrayContaining([0]) } },
    })
    expect(report.corrupted_tree_map['2']).toMatchObject({
      corrupted_subtree_root: false,
      corrupted_index_tuples_map: null,
    })
    expect(await C.status('performance')).toMatchObject({ corrupted_merkle_tree: true })
    expect((await C.status('performance')).merkle_root).not.toBe((await A.status('performance')).merkle_root)

    await on.ok(C, 'POST', 'sys/replication/reindex', {})
    await on.status(C, 'performance', { corrupted_merkle_tree: false })
    await checkMonitoring(on, A, C, 'performance', 'c')
    const again = await on.ok(C, 'POST', 'sys/replication/merkle-check')
    expect(again.data.merkle_corruption_report).toMatchObject({ corrupted_root: false })
    expect(dataBefore.size).toBe(100)
    expect(await allData(on, C)).toEqual(dataBefore)
    await on.refused(
      C,
      'POST',
      `${LAB}/faults/corrupt`,
      { tree: 'other', page },
      400,
      'tree must be replicated or local',
    )
  }))

it('F13: a secondary compares trees if the log no longer contains its position', () =>
  drill('F13 lag and catch-up', async (on) => {
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    await checkMonitoring(on, A, C, 'performance', 'c')
    on.step(`the link is cut while A writes ${MISSED} entries, of which it keeps ${RETENTION}`)
    A.link.partition()
    for (const [cluster, kind] of [
      [B, 'dr'],
      [C, 'performance'],
    ] as const) {
      await on.wait(cluster, 'the cut to be noticed', async () =>
        (await cluster.status(kind)).connection_state === 'ready' ? 'it is ready' : undefined,
      )
      await on.ok(cluster, 'POST', `${LAB}/states/hold`, { state: 'merkle-diff', kind })
    }
    for (let n = 0; n < MISSED; n++) await A.client.write(`kv/new-${n}`, { value: `new ${n}` })
    await A.client.delete('kv/old-1')
    await untilTrimmed(A, Number((await B.status('dr')).last_remote_wal))
    await untilTrimmed(A, Number((await C.status('performance')).last_remote_wal))

    on.step('C passes the states one by one, and its status answers in each')
    A.link.heal()
    await on.status(C, 'performance', { state: 'merkle-diff' })
    await on.ok(C, 'POST', `${LAB}/states/hold`, { state: 'merkle-sync', kind: 'performance' })
    await on.ok(C, 'POST', `${LAB}/states/release`, { state: 'merkle-diff', kind: 'performance' })
    const syncing = await on.status(C, 'performance', { state: 'merkle-sync', connection_state: 'ready' })
    expect(syncing.merkle_sync_progress).toEqual({ sync_total_keys: 0, sync_progress: 0 })
    expect((await on.ok(C, 'GET', `${LAB}/states`)).body.states).toEqual([
      { kind: 'performance', state: 'merkle-sync', isReached: true },
    ])
    await on.ok(C, 'POST', `${LAB}/states/release`, {})
    await on.reads(C, `kv/new-${MISSED - 1}`, `new ${MISSED - 1}`)
    await checkMonitoring(on, A, C, 'performance', 'c')
    expect(await C.status('performance')).not.toHaveProperty('merkle_sync_progress')
    expect(await on.read(C, 'kv/old-1')).toBeUndefined()
    for (let n = 0; n < MISSED; n += 7) expect(await on.read(C, `kv/new-${n}`)).toBe(`new ${n}`)

    on.step('B is not to be promoted meanwhile, unless it is forced to')
    await on.ok(B, 'POST', `${LAB}/states/hold`, { state: 'merkle-sync', kind: 'dr' })
    await on.ok(B, 'POST', `${LAB}/states/release`, { state: 'merkle-diff', kind: 'dr' })
    await on.status(B, 'dr', { state: 'merkle-sync' })
    const operation = await on.ceremony(B)
    const promote = 'sys/replication/dr/secondary/promote'
    const text = 'replication is still catching up, try again later or provide the "force" argument'
    await on.refused(B, 'POST', promote, { dr_operation_token: operation }, 503, text)
    const startedMs = on.elapsedMs
    await on.change(B, 'dr/secondary/promote', { dr_operation_token: operation, force: true }, 'is being promoted')
    B.seal = { ...B.seal, rootToken: A.rootToken }
    await B.untilServes()
    await on.write(B, 'kv/forced', 'the first of B')
    on.note(`forced: ${Math.round(on.elapsedMs - startedMs)} ms from promote to the first accepted write`)

    on.step('B has exactly what was applied, its trees fit, and the loss is listed')
    expect(await on.read(B, 'kv/new-0')).toBeUndefined()
    expect(await on.read(B, 'kv/old-1')).toBe(1)
    const checked = await on.ok(B, 'POST', 'sys/replication/merkle-check')
    expect(checked.data.merkle_corruption_report).toMatchObject({ corrupted_root: false })
    const losses = (await on.ok(B, 'GET', `${LAB}/losses`)).body.losses
    expect(losses).toEqual([expect.objectContaining({ reason: expect.stringContaining('sync incomplete') })])
  }))

it('hold rejects an unknown state and lists the known ones', () =>
  drill('holding nothing', async (on) => {
    const body = { state: 'asleep', kind: 'dr' }
    await on.refused(
      C,
      'POST',
      `${LAB}/states/hold`,
      body,
      400,
      'bootstrapping, merkle-diff, merkle-sync, reindex or apply',
    )
  }))
