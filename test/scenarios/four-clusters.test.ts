import { beforeAll, expect, it } from 'vitest'
import { promoteDr } from '../support/ceremony.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'

/**
 * Four clusters: A is the performance primary and has the DR copy B. Its performance secondary C has the DR copy D
 * (F9). Both originals are lost, one after the other, and return.
 */
const clusters = openClusters()
let A: Cluster
let B: Cluster
let C: Cluster
let D: Cluster
let rootToken = ''
let setId: unknown

beforeAll(async () => {
  A = await clusters.add('A')
  B = await clusters.add('B')
  C = await clusters.add('C')
  D = await clusters.add('D')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await clusters.join(A, C, 'performance', 'c')
  await clusters.join(A, B, 'dr', 'dr-b')
  await clusters.join(C, D, 'dr', 'dr-d')
  rootToken = A.rootToken
  setId = (await A.status('performance')).cluster_id
})

/** Waits until `secondary` follows `primary` and shows its address. */
const follows = async (on: Drill, secondary: Cluster, primary: Cluster): Promise<void> => {
  const address = await primary.clusterAddress()
  await on.status(secondary, 'performance', { connection_state: 'ready', primary_cluster_addr: address })
  await checkMonitoring(on, primary, secondary, 'performance', 'c')
}

it('F9: four clusters are replicated and idle', () =>
  drill('F9 set-up', async (on) => {
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')
    expect(await B.status('performance')).toEqual({ mode: 'disabled' })
    expect(await D.status('performance')).toEqual({ mode: 'disabled' })
    expect(await on.health(B, 472)).toMatchObject({ replication_performance_mode: 'primary' })
    expect(await on.health(D, 472)).toMatchObject({ replication_performance_mode: 'secondary' })
    await on.wait(C, 'to know the address of B too', async () => {
      const { known_primary_cluster_addrs: known } = await C.status('performance')
      const wanted = JSON.stringify([await A.clusterAddress(), await B.clusterAddress()])
      return JSON.stringify(known) === wanted ? undefined : `it knows ${JSON.stringify(known)}`
    })
    await on.write(C, 'kv/through-c', 'forwarded to A')
    expect(await on.read(A, 'kv/through-c')).toBe('forwarded to A')
  }))

it('F9: B replaces A after A is killed', () =>
  drill('F9 A is lost', async (on) => {
    await on.ok(C, 'POST', 'sys/mounts/c-local', { type: 'kv', local: true })
    await on.write(C, 'c-local/here', 'on C only')
    await clusters.untilReplicated(A, B, 'dr')
    await A.server.crash()
    await on.refused(C, 'PUT', 'kv/nobody', { value: 1 }, 503, 'primary cluster is unreachable')
    expect(await on.read(C, 'kv/through-c')).toBe('forwarded to A')
    await promoteDr(B, rootToken)
    await follows(on, C, B)
    expect((await C.status('performance')).known_primary_cluster_addrs).toEqual([await B.clusterAddress()])
    expect(await B.status('performance')).toMatchObject({ cluster_id: setId, known_secondaries: ['c'] })
    expect(await B.status('dr')).toMatchObject({ known_secondaries: [] })
    await on.write(C, 'kv/after-b', 'forwarded to B')
    expect(await on.read(B, 'kv/after-b')).toBe('forwarded to B')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')
  }))

it('F9: D replaces C after C is killed', () =>
  drill('F9 C is lost', async (on) => {
    await C.server.crash()
    await promoteDr(D, C.rootToken)
    await follows(on, D, B)
    expect(await D.status('performance')).toMatchObject({ mode: 'secondary', secondary_id: 'c', cluster_id: setId })
    expect(await on.read(D, 'c-local/here')).toBe('on C only')
    await on.write(D, 'kv/through-d', 'forwarded to B by D')
    expect(await on.read(B, 'kv/through-d')).toBe('forwarded to B by D')
    expect(await B.status('performance')).toMatchObject({ known_secondaries: ['c'] })

    on.step('C comes back with the same id: the newer one counts')
    await C.reopen()
    await on.status(C, 'performance', { connection_state: 'transient_failure' })
    await checkMonitoring(on, B, D, 'performance', 'c')
    await on.write(B, 'kv/newest', 'for D')
    await on.reads(D, 'kv/newest', 'for D')
    expect(await on.read(C, 'kv/newest')).toBeUndefined()
  }))

it('a DR copy replaces a performance primary that was stopped cleanly', () =>
  drill('clean stop', async (on) => {
    on.step('C is rid of its old role, and follows B as another secondary')
    expect((await on.ok(C, 'POST', 'sys/replication/performance/secondary/disable')).status).toBe(200)
    await on.wait(C, 'disabled', async () => {
      const { mode } = await C.status('performance')
      return mode === 'disabled' ? undefined : String(mode)
    })
    await C.untilServes()
    await on.change(C, 'dr/primary/disable', {}, 'is having replication disabled')
    await C.untilServes()
    await clusters.join(B, C, 'performance', 'c2')
    await A.reopen()
    await on.change(A, 'dr/primary/demote', {}, 'is being demoted')
    const token = await on.token(B, 'dr', 'dr-a0')
    const dr_operation_token = await on.ceremony(A)
    await on.change(A, 'dr/secondary/update-primary', { dr_operation_token, token }, 'has successfully found')
    A.seal = { ...A.seal, rootToken: '' }
    await on.status(A, 'dr', { state: 'stream-wals', connection_state: 'ready' })
    await clusters.untilReplicated(B, A, 'dr')

    on.step('B says goodbye to all at once; A takes over and both secondaries follow')
    await B.server.stop()
    await promoteDr(A, rootToken)
    await follows(on, D, A)
    await on.status(C, 'performance', { connection_state: 'ready', primary_cluster_addr: await A.clusterAddress() })
    await checkMonitoring(on, A, C, 'performance', 'c2')
    await on.write(C, 'kv/after-stop', 'forwarded to A')
    expect(await on.read(A, 'kv/after-stop')).toBe('forwarded to A')

    on.step('B comes back, is demoted, and A gives its place back to it')
    await B.reopen()
    await on.change(B, 'dr/primary/demote', {}, 'is being demoted')
    const back = await on.token(A, 'dr', 'dr-b0')
    const operation = await on.ceremony(B)
    await on.change(
      B,
      'dr/secondary/update-primary',
      { dr_operation_token: operation, token: back },
      'has successfully found',
    )
    B.seal = { ...B.seal, rootToken: '' }
    await clusters.untilReplicated(A, B, 'dr')
    await on.change(A, 'dr/primary/demote', {}, 'is being demoted')
    await promoteDr(B, rootToken)
    await follows(on, D, B)
    await A.server.stop()
  }))

it('secondaries follow a failback right after the old primary rejoined', () =>
  drill('quick failback', async (on) => {
    on.step('A returns and becomes the DR secondary of B')
    await A.reopen()
    const token = await on.token(B, 'dr', 'dr-a')
    const operation = await on.ceremony(A)
    const body = { dr_operation_token: operation, token }
    await on.change(A, 'dr/secondary/update-primary', body, 'has successfully found')
    A.seal = { ...A.seal, rootToken: '' }
    await on.status(A, 'dr', { state: 'stream-wals', connection_state: 'ready' })

    on.step('B is demoted at once, A promoted: D finds A')
    await on.write(B, 'kv/last-of-b', 'the last of B')
    await on.change(B, 'dr/primary/demote', {}, 'is being demoted')
    B.seal = { ...B.seal, rootToken: '' }
    await on.gated(B)
    await promoteDr(A, rootToken)
    await follows(on, D, A)
    await on.write(D, 'kv/through-d-again', 'forwarded to A')
    expect(await on.read(A, 'kv/through-d-again')).toBe('forwarded to A')
    expect(await on.read(A, 'kv/last-of-b')).toBe('the last of B')
  }))
