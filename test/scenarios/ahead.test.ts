import { beforeAll, expect, it } from 'vitest'
import { operationToken } from '../support/ceremony.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'
import { lossesOf } from '../support/own-endpoints.js'

/**
 * The primary dies when its performance secondary has more entries than the DR copy that replaces it. The secondary
 * follows the copy, discards the entries that the new primary does not have, and lists them.
 */
const LEAD = 9

const clusters = openClusters()
let A: Cluster
let B: Cluster
let C: Cluster

beforeAll(async () => {
  A = await clusters.add('A')
  B = await clusters.add('B')
  C = await clusters.add('C')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await A.client.write('kv/known', { value: 'known to all' })
  await clusters.join(A, C, 'performance', 'c')
  await clusters.join(A, B, 'dr', 'dr-b')
})

it('a secondary follows a promoted copy with fewer entries, and lists the discarded ones', () =>
  drill('a secondary ahead of the promoted copy', async (on) => {
    on.step(`B applies nothing any more; C gets ${LEAD} writes and a deletion that B does not`)
    await on.ok(B, 'POST', '/_understudy/v1/states/hold', { state: 'apply', kind: 'dr' })
    for (let n = 0; n < LEAD; n++) await on.write(A, `kv/lead-${n}`, `ahead ${n}`)
    await on.ok(A, 'DELETE', 'kv/known')
    await on.reads(C, `kv/lead-${LEAD - 1}`, `ahead ${LEAD - 1}`)
    await on.reads(C, 'kv/known', undefined)
    await on.ok(C, 'POST', 'auth/token/create', { policies: ['default'] })
    const { rootToken } = A
    await A.server.crash()

    on.step('B is promoted with force; what it knows to be missing is listed there')
    const operation = await operationToken(B)
    await on.refused(
      B,
      'POST',
      'sys/replication/dr/secondary/promote',
      { dr_operation_token: operation },
      503,
      'catching up',
    )
    await on.change(B, 'dr/secondary/promote', { dr_operation_token: operation, force: true }, 'is being promoted')
    B.seal = { ...B.seal, rootToken }
    await B.untilServes()
    await on.write(B, 'kv/known', 'written by B')
    await on.write(B, 'kv/lead-0', 'written by B')

    on.step('C follows B and has what B has')
    await checkMonitoring(on, B, C, 'performance', 'c')
    expect(await on.read(C, 'kv/known')).toBe('written by B')
    expect(await on.read(C, 'kv/lead-0')).toBe('written by B')
    for (let n = 1; n < LEAD; n++) expect(await on.read(C, `kv/lead-${n}`)).toBeUndefined()

    on.step('the list equals the truth, and survives a restart')
    const losses = await lossesOf(on, C)
    const entries = [
      ...Array.from({ length: LEAD }, (_, n) => ({ path: `kv/data/lead-${n}`, operation: 'put' })),
      { path: 'kv/data/known', operation: 'delete' },
    ]
    expect(losses).toEqual([
      expect.objectContaining({
        reason: 'received from the former primary, unknown to the new primary',
        entries: entries.map((entry) => expect.objectContaining(entry)),
      }),
    ])
    await C.server.crash()
    await C.reopen()
    expect(await lossesOf(on, C)).toEqual(losses)
    await checkMonitoring(on, B, C, 'performance', 'c')
  }))
