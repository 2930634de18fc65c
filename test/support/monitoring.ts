import { expect } from 'vitest'
import type { Kind } from '../../src/lab/kinds.js'
import type { Cluster } from './cluster.js'
import type { Drill } from './drill.js'

/** What the vendor's tutorials have an operator compare on every step (drill F17). */
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
  expect(below.cluster_id).toBe(above.cluster_id)
  expect(below.secondary_id).toBe(secondaryId)
  expect(below.merkle_root).toMatch(/^[0-9a-f]{40}$/)
  expect(below.primaries).toEqual([
    expect.objectContaining({ connection_status: 'connected', api_address: primary.apiAddress }),
  ])
  expect(linkOf(above, secondaryId)).toMatchObject({
    connection_status: 'connected',
    api_address: secondary.apiAddress,
  })
  const beat = () => primary.status(kind).then((status) => String(linkOf(status, secondaryId)?.last_heartbeat))
  const first = await beat()
  await drill.wait(primary, 'the heartbeat to advance', async () => ((await beat()) > first ? undefined : first))
}

const linkOf = (status: Record<string, unknown>, id: string): Record<string, unknown> | undefined =>
  (status.secondaries as Record<string, unknown>[]).find((row) => row.node_id === id)
