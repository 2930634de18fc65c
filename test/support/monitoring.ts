import { expect } from 'vitest'
import type { Kind } from '../../src/lab/model/kinds.js'
import type { Cluster } from './clusters.js'
import type { Drill } from './drill.js'

type Row = Readonly<Record<string, unknown>>

/** Checks the fields that the tutorials of the vendor compare after every step (drill F17). */
export const checkMonitoring = async (
  drill: Drill,
  primary: Cluster,
  secondary: Cluster,
  kind: Kind,
  secondaryId: string,
): Promise<void> => {
  await drill.status(secondary, kind, { mode: 'secondary', state: 'stream-wals', connection_state: 'ready' })
  await drill.wait(secondary, `the primary's index and root (${kind})`, async () => {
    const ours = await primary.status(kind)
    const theirs = await secondary.status(kind)
    const lastWal = Number(kind === 'dr' ? ours.last_dr_wal : ours.last_performance_wal)
    if (Number(theirs.last_remote_wal) < lastWal) return `last_remote_wal ${theirs.last_remote_wal} of ${lastWal}`
    return theirs.merkle_root === ours.merkle_root ? undefined : 'the roots differ'
  })
  const above = await primary.status(kind)
  const below = await secondary.status(kind)
  expect(above).toMatchObject({ mode: 'primary', state: 'running', corrupted_merkle_tree: false })
  expect(above.known_secondaries).toContain(secondaryId)
  expect(below).toMatchObject({ cluster_id: above.cluster_id, secondary_id: secondaryId, corrupted_merkle_tree: false })
  expect(below.merkle_root).toMatch(/^[0-9a-f]{40}$/)
  expect(below.known_primary_cluster_addrs).toContain(await primary.clusterAddress())
  expect(below.primaries).toEqual([expect.objectContaining(await connectedRow(primary))])
  expect(rowOf(above, secondaryId)).toMatchObject(await connectedRow(secondary))
  await heartbeatsAdvance(drill, kind, [
    [primary, (status) => rowOf(status, secondaryId)],
    [secondary, (status) => (status.primaries as Row[])[0]],
  ])
}

/** Returns the expected fields of the other side in a row of `secondaries` or `primaries`. */
const connectedRow = async (cluster: Cluster): Promise<Row> => ({
  connection_status: 'connected',
  api_address: cluster.apiAddress,
  cluster_address: await cluster.clusterAddress(),
})

const heartbeatsAdvance = async (
  drill: Drill,
  kind: Kind,
  sides: readonly (readonly [Cluster, (status: Row) => Row | undefined])[],
): Promise<void> => {
  const waits = sides.map(async ([cluster, find]) => {
    const beat = async () => String(find(await cluster.status(kind))?.last_heartbeat)
    const first = await beat()
    await drill.wait(cluster, 'the heartbeat to advance', async () => ((await beat()) > first ? undefined : first))
  })
  await Promise.all(waits)
}

const rowOf = (status: Row, id: string): Row | undefined =>
  (status.secondaries as Row[]).find((row) => row.node_id === id)
