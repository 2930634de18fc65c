import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'
import { lossesOf } from '../support/own-endpoints.js'

/**
 * Primary and secondary of a performance set with exchanged roles (F16), in the order of the guides and in the opposite
 * order. A has the DR copy B; D is another secondary.
 */
const clusters = openClusters()
let A: Cluster
let B: Cluster
let C: Cluster
let D: Cluster

beforeAll(async () => {
  A = await clusters.add('A')
  B = await clusters.add('B')
  C = await clusters.add('C')
  D = await clusters.add('D')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await clusters.join(A, C, 'performance', 'c')
  await clusters.join(A, D, 'performance', 'd')
  await clusters.join(A, B, 'dr', 'dr-b')
  await C.client.write('sys/mounts/us_west', { type: 'kv', local: true })
  await C.client.write('us_west/it', { value: 'on C only' })
  await A.client.write('sys/mounts/eu_local', { type: 'kv', local: true })
  await A.client.write('eu_local/it', { value: 'on A and its copy' })
})

it('F16: primary and secondary exchange their roles', () =>
  drill('F16 performance switchover', async (on) => {
    const { cluster_id: setId } = await A.status('performance')
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, A, D, 'performance', 'd')
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    await on.refused(
      C,
      'POST',
      'sys/replication/performance/primary/demote',
      {},
      400,
      'cluster is not a performance primary',
    )
    await on.change(A, 'performance/primary/demote', {}, 'is being demoted')
    await on.status(A, 'performance', { mode: 'secondary', state: 'idle', connection_state: 'shutdown' })
    await A.untilServes()
    await on.refused(
      A,
      'POST',
      'sys/replication/performance/secondary/update-primary',
      { update_primary_addrs: ['127.0.0.1:1'] },
      400,
      'update_primary_addrs needs existing credentials; use a token',
    )
    await on.refused(A, 'PUT', 'kv/nobody', { value: 1 }, 503, 'primary cluster is unreachable')
    await on.status(A, 'dr', { mode: 'primary' })
    const startedMs = on.elapsedMs
    await on.change(C, 'performance/secondary/promote', {}, 'is being promoted')
    await on.status(C, 'performance', { mode: 'primary', cluster_id: setId })
    await C.untilServes()
    await on.write(C, 'kv/first', 'the first of C')
    on.note(`planned: ${Math.round(on.elapsedMs - startedMs)} ms from promote to the first accepted write`)

    on.step('A follows C')
    const token = await on.token(C, 'performance', 'a')
    await on.change(A, 'performance/secondary/update-primary', { token }, 'has successfully found')
    await checkMonitoring(on, C, A, 'performance', 'a')
    await A.untilServes()
    await on.reads(A, 'kv/first', 'the first of C')
    await on.write(A, 'kv/through-a', 'forwarded to C')
    expect(await on.read(C, 'kv/through-a')).toBe('forwarded to C')
    expect(await on.read(C, 'us_west/it')).toBe('on C only')
    expect(await on.read(A, 'eu_local/it')).toBe('on A and its copy')
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    for (const cluster of [A, C]) expect(await lossesOf(on, cluster)).toEqual([])

    on.step('a further secondary has been left behind, until it has a token of its own')
    expect((await C.status('performance')).known_secondaries).toEqual(['a'])
    expect(await D.status('performance')).toMatchObject({
      state: 'stream-wals',
      primaries: [{ connection_status: 'disconnected' }],
    })
    expect(await on.read(D, 'kv/first')).toBeUndefined()
    const own = await on.token(C, 'performance', 'd')
    await on.change(D, 'performance/secondary/update-primary', { token: own }, 'has successfully found')
    await checkMonitoring(on, C, D, 'performance', 'd')
    await on.reads(D, 'kv/first', 'the first of C')
  }))

it('F16: both clusters are primaries if the secondary is promoted first', () =>
  drill('F16 promote before demote', async (on) => {
    const { cluster_id: setId } = await C.status('performance')
    await on.change(A, 'performance/secondary/promote', {}, 'is being promoted')
    await on.status(A, 'performance', { mode: 'primary', state: 'running', cluster_id: setId })
    await on.status(C, 'performance', { mode: 'primary', state: 'running', cluster_id: setId })
    await A.untilServes()
    await on.write(A, 'kv/again', 'the first of A')

    on.step('C steps back and follows A')
    await on.change(C, 'performance/primary/demote', {}, 'is being demoted')
    await on.status(C, 'performance', { mode: 'secondary', state: 'idle' })
    await C.untilServes()
    const token = await on.token(A, 'performance', 'c')
    await on.change(C, 'performance/secondary/update-primary', { token }, 'has successfully found')
    await checkMonitoring(on, A, C, 'performance', 'c')
    await C.untilServes()
    await on.reads(C, 'kv/again', 'the first of A')
    expect(await on.read(C, 'us_west/it')).toBe('on C only')
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
  }))
