import { expect, it } from 'vitest'
import { type LabCluster, startLab } from '../../../src/index.js'
import { until } from '../../support/until.js'

/** Returns the value of a metric such as `vault.a.b`: of a gauge, or of a count or a sum. */
const read = async (cluster: LabCluster, name: string): Promise<number> => {
  const { bytes } = await cluster.anonymous.send('GET', '/_understudy/v1/metrics')
  const line = new RegExp(`^${name.replaceAll('.', '_')} (\\S+)`, 'm').exec(bytes.toString())
  return Number(line?.[1] ?? 0)
}

it('both sides of a link report the metrics that operators monitor', async () => {
  await using lab = await startLab('pr', { settings: { wal_retention_entries: 16 } })
  const { A, C } = lab
  const guards = async () => [
    await read(A, 'vault.logshipper.streamWALs.missing_guard_count'),
    await read(A, 'vault.logshipper.streamWALs.guard_found_count'),
  ]
  expect(await guards()).toEqual([1, 0])
  expect(await read(C, 'vault.replication.merkleDiff_count')).toBe(1)
  expect(await read(C, 'vault.replication.merkleSync_count')).toBe(1)

  await C.crash()
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await C.start()
  await lab.converged()
  expect(await guards()).toEqual([1, 1])
  const scanned = await read(A, 'vault.logshipper.streamWALs.scanned_entries_sum')
  expect(scanned).toBeGreaterThan(0)
  expect(await read(C, 'vault.replication.merkleDiff_count')).toBe(0)

  await C.crash()
  for (let index = 0; index < 50; index++) await A.client.write(`kv/${index}`, { index })
  const last = Number((await A.status('performance')).last_wal)
  await until(async () => (await read(A, 'vault.wal.gc.deleted_sum')) === last - 16)
  expect(await read(A, 'vault.replication.wal.gc')).toBe(last - 16)
  expect(await read(A, 'vault.wal.gc.total')).toBe(16)
  await C.start()
  await lab.converged()
  expect(await guards()).toEqual([2, 1])
  expect(await read(C, 'vault.replication.merkleSync_count')).toBe(1)
})
