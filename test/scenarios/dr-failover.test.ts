import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { DR_GATE as GATE, type Drill, drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'
import { generationOf, lossesOf } from '../support/own-endpoints.js'

/**
 * Planned failover and failback of a DR pair, as in the vendor's guides: F1 set up, F2 fail over, F3 rejoin the old
 * primary, F4 fail back. Each drill begins in the final state of the one before.
 */
const HANDLER_POLICY = `
path "sys/replication/dr/secondary/promote" { capabilities = ["update"] }
path "sys/replication/dr/secondary/update-primary" { capabilities = ["update"] }
`

const clusters = openClusters()
let A: Cluster
let B: Cluster
let batchToken = ''
let appToken = ''
let setId: unknown

beforeAll(async () => {
  A = await clusters.add('A', { shares: 3 })
  B = await clusters.add('B')
})

it('F1: a DR pair is set up', () =>
  drill('F1 DR setup', async (on) => {
    on.step('neither cluster replicates')
    const before = await on.ok(A, 'GET', 'sys/replication/status')
    expect(before.data).toEqual({ dr: { mode: 'disabled' }, performance: { mode: 'disabled' } })
    await on.ok(A, 'POST', 'sys/mounts/kv', { type: 'kv' })

    on.step('A becomes DR primary')
    await on.change(A, 'dr/primary/enable', {}, 'is being enabled as a primary for replication')
    const primary = await on.status(A, 'dr', { mode: 'primary', state: 'running' })
    expect(primary.known_secondaries).toEqual([])
    setId = primary.cluster_id
    await A.untilServes()

    on.step('A issues an activation token')
    const issued = await on.ok(A, 'POST', 'sys/replication/dr/primary/secondary-token', { id: 'dr-b' })
    const wrap = issued.body.wrap_info as { token: string; ttl: number }
    expect(wrap.ttl).toBe(1800)
    const claims = JSON.parse(Buffer.from(wrap.token.split('.')[1] ?? '', 'base64url').toString()) as object
    expect(wrap.token.split('.')).toHaveLength(3)
    expect(claims).toMatchObject({ addr: A.apiAddress, type: 'wrapping' })

    on.step('B is wiped and becomes a DR secondary')
    await on.change(B, 'dr/secondary/enable', { token: wrap.token }, 'has successfully found secondary information')
    const oldToken = B.rootToken
    B.seal = { ...A.seal, rootToken: '' }
    await on.health(B, 472)
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    expect((await B.status('dr')).cluster_id).toBe(setId)
    expect(await A.status('dr')).toMatchObject({
      known_secondaries: ['dr-b'],
      secondaries: [{ node_id: 'dr-b', connection_status: 'connected' }],
    })

    on.step('B serves nobody')
    for (const token of [oldToken, A.rootToken, 'hvs.nobody']) {
      await on.refused(B, 'GET', 'sys/mounts', undefined, 400, GATE, { token })
    }

    on.step('a write on A moves B')
    const earlier = await B.status('dr')
    await on.write(A, 'kv/f1', 'written in F1')
    await on.wait(B, 'another root', async () =>
      (await B.status('dr')).merkle_root === earlier.merkle_root ? 'it is the old one' : undefined,
    )
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    expect(Number((await B.status('dr')).last_remote_wal)).toBeGreaterThan(Number(earlier.last_remote_wal))
  }))

it('F2: a planned failover promotes the DR secondary', () =>
  drill('F2 planned failover', async (on) => {
    on.step('A has an operation token of the batch kind, an application token and a lease')
    await on.ok(A, 'PUT', 'sys/policies/acl/failover', { policy: HANDLER_POLICY })
    await on.ok(A, 'PUT', 'auth/token/roles/failover-handler', {
      allowed_policies: ['failover'],
      orphan: true,
      renewable: false,
      token_type: 'batch',
    })
    const batch = await on.ok(A, 'POST', 'auth/token/create/failover-handler', { ttl: '8h' })
    batchToken = String((batch.body.auth as { client_token: string }).client_token)
    expect(batchToken).toMatch(/^hvb\./)
    await on.ok(A, 'PUT', 'sys/policies/acl/app', {
      policy: 'path "kv/*" { capabilities = ["read", "update", "create"] }',
    })
    const app = await on.ok(A, 'POST', 'auth/token/create', { policies: ['app'], ttl: '1h' })
    appToken = String((app.body.auth as { client_token: string }).client_token)
    await on.ok(A, 'PUT', 'kv/f2', { value: 'by the application' }, { token: appToken })

    await checkMonitoring(on, A, B, 'dr', 'dr-b')

    on.step('A is demoted')
    await on.change(A, 'dr/primary/demote', {}, 'is being demoted to a replication secondary')
    const rootToken = A.rootToken
    await on.health(A, 472)
    expect(await on.status(A, 'dr', { mode: 'secondary', state: 'idle' })).toMatchObject({
      cluster_id: setId,
      connection_state: 'shutdown',
      known_primary_cluster_addrs: [],
      primary_cluster_addr: '',
      primaries: [],
    })
    await on.gated(A)
    await on.refused(A, 'GET', 'kv/f2', undefined, 400, GATE, { token: rootToken })

    on.step('B is promoted with a token from the key shares')
    await on.refused(B, 'POST', 'sys/replication/dr/secondary/promote', {}, 400, 'missing dr_operation_token')
    await on.refused(
      B,
      'POST',
      'sys/replication/dr/secondary/promote',
      { dr_operation_token: rootToken },
      403,
      'permission denied',
    )
    await expectCeremony(on, B)
    const operation = await on.ceremony(B)
    const startedMs = on.elapsedMs
    await on.change(
      B,
      'dr/secondary/promote',
      { dr_operation_token: operation },
      'is being promoted to a replication primary',
    )
    await on.health(B, 200)
    B.seal = { ...B.seal, rootToken }
    await B.untilServes()
    await on.write(B, 'kv/f2-first', 'the first write after the promotion')
    on.note(`planned: ${Math.round(on.elapsedMs - startedMs)} ms from promote to the first accepted write`)
    expect(await on.status(B, 'dr', { mode: 'primary', state: 'running' })).toMatchObject({
      cluster_id: setId,
      known_secondaries: [],
      secondaries: [],
    })

    on.step('tokens and leases of A go on at B')
    expect(await on.read(B, 'kv/f1')).toBe('written in F1')
    const own = await on.ok(B, 'GET', 'kv/f2', undefined, { token: appToken })
    expect(own.data.value).toBe('by the application')
    const renewed = await on.ok(B, 'POST', 'auth/token/renew-self', { increment: '2h' }, { token: appToken })
    expect(renewed.body.auth).toMatchObject({ client_token: appToken, renewable: true })
    expect((await on.ok(B, 'GET', 'auth/token/lookup-self')).data.policies).toEqual(['root'])
    A.seal = { ...A.seal, rootToken: '' }
  }))

it('F3: the old primary rejoins as a DR secondary', () =>
  drill('F3 rejoin of the old primary', async (on) => {
    await on.write(B, 'kv/f3', 'written on B')
    const token = await on.token(B, 'dr', 'dr-a')
    const generation = await generationOf(on, A)
    const operation = await on.ceremony(A)
    await on.change(
      A,
      'dr/secondary/update-primary',
      { dr_operation_token: operation, token },
      'has successfully found secondary information',
    )
    await checkMonitoring(on, B, A, 'dr', 'dr-a')
    expect((await A.status('dr')).cluster_id).toBe(setId)
    expect(await generationOf(on, A), 'nothing is wiped').toBe(generation)
    expect(await lossesOf(on, A)).toEqual([])

    on.step('the operation token is deleted, and worth nothing from then on')
    const body = { dr_operation_token: operation }
    expect((await on.ok(A, 'POST', 'sys/replication/dr/secondary/operation-token/delete', body)).status).toBe(204)
    await on.refused(A, 'POST', 'sys/replication/dr/secondary/promote', body, 403, 'permission denied')
  }))

it('F4: a failback restores the original roles', () =>
  drill('F4 failback', async (on) => {
    const rootToken = B.rootToken
    const generations = [await generationOf(on, A), await generationOf(on, B)]
    await on.write(B, 'kv/f4', 'the last of B')
    await checkMonitoring(on, B, A, 'dr', 'dr-a')
    on.step('B is demoted, A is promoted with the batch token')
    await on.change(B, 'dr/primary/demote', {}, 'is being demoted')
    await on.health(B, 472)
    B.seal = { ...B.seal, rootToken: '' }
    await on.change(A, 'dr/secondary/promote', { dr_operation_token: batchToken }, 'is being promoted')
    await on.status(A, 'dr', { mode: 'primary', state: 'running' })
    A.seal = { ...A.seal, rootToken }
    await A.untilServes()

    on.step('B follows A again, with a new id')
    const token = await on.token(A, 'dr', 'dr-b2')
    const operation = await on.ceremony(B)
    await on.change(
      B,
      'dr/secondary/update-primary',
      { dr_operation_token: operation, token },
      'has successfully found',
    )
    await on.health(B, 472)
    await checkMonitoring(on, A, B, 'dr', 'dr-b2')
    expect(await A.status('dr')).toMatchObject({ cluster_id: setId, known_secondaries: ['dr-b2'] })

    on.step('everything that was ever written is on A, and nothing was wiped')
    const wanted = {
      f1: 'written in F1',
      f2: 'by the application',
      'f2-first': 'the first write after the promotion',
      f3: 'written on B',
      f4: 'the last of B',
    }
    for (const [name, value] of Object.entries(wanted)) expect(await on.read(A, `kv/${name}`), name).toBe(value)
    const list = await on.ok(A, 'LIST', 'kv')
    expect(list.data.keys).toEqual(Object.keys(wanted).sort())
    expect([await generationOf(on, A), await generationOf(on, B)]).toEqual(generations)
    for (const cluster of [A, B]) expect(await lossesOf(on, cluster)).toEqual([])
  }))

/** Runs the key-share ceremony: one of the two required shares, its progress, and the cancellation of the attempt. */
const expectCeremony = async (on: Drill, cluster: Cluster): Promise<void> => {
  const path = 'sys/replication/dr/secondary/generate-operation-token'
  const [key] = cluster.unsealKeys
  const begun = (await on.ok(cluster, 'POST', `${path}/attempt`)).body
  expect(begun).toMatchObject({ started: true, progress: 0, required: 2, complete: false, otp_length: 28 })
  expect(begun.otp).toHaveLength(28)
  const { body } = await on.ok(cluster, 'POST', `${path}/update`, { key, nonce: begun.nonce })
  expect(body).toMatchObject({ started: true, nonce: begun.nonce, progress: 1, required: 2, complete: false })
  expect((await on.ok(cluster, 'DELETE', `${path}/attempt`)).status).toBe(204)
  expect((await on.ok(cluster, 'GET', `${path}/attempt`)).body).toMatchObject({ started: false, progress: 0 })
}
