import { beforeAll, expect, it } from 'vitest'
import { operationToken, promoteDr } from '../support/ceremony.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { type Answer, DR_GATE, drill, type Drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'

/** Steps of a drill on the AppRole mount `approle/`. */
interface SecretId {
  readonly secret_id: string
  readonly secret_id_accessor: string
}

/** The error of a login with a wrong ID. */
const INVALID = 'invalid role or secret ID'

const roleId = async (on: Drill, cluster: Cluster, role: string): Promise<string> =>
  String((await on.ok(cluster, 'GET', `auth/approle/role/${role}/role-id`)).data.role_id)

const secretId = async (on: Drill, cluster: Cluster, role: string): Promise<SecretId> =>
  (await on.ok(cluster, 'POST', `auth/approle/role/${role}/secret-id`, {})).data as unknown as SecretId

const login = (on: Drill, cluster: Cluster, id: string, { secret_id }: SecretId): Promise<Answer> =>
  on.call(cluster, 'POST', 'auth/approle/login', { role_id: id, secret_id }, { isAnonymous: true })

/** Returns the token of a successful login. */
const tokenOf = ({ body }: Answer): string => String((body.auth as { client_token: string }).client_token)

const usesLeft = async (on: Drill, cluster: Cluster, role: string, { secret_id }: SecretId): Promise<unknown> =>
  (await on.call(cluster, 'POST', `auth/approle/role/${role}/secret-id/lookup`, { secret_id })).data.secret_id_num_uses

/**
 * Roles, SecretIDs and their uses under replication. Uses of shared SecretIDs are counted on the primary, wherever they
 * are used. Local SecretIDs stay on the cluster that issued them, and on its DR copy. A filter removes and restores the
 * whole mount.
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
  await A.client.write('sys/auth/approle', { type: 'approle' })
  await clusters.join(A, C, 'performance', 'c')
  await clusters.join(A, B, 'dr', 'dr-b')
  await clusters.join(C, D, 'dr', 'dr-d')
})

let shared: { readonly id: string; readonly limited: SecretId; readonly free: SecretId }
let local: { readonly id: string; readonly onA: SecretId; readonly onC: SecretId }
let tokenOfC = ''
let last: SecretId

it('a performance secondary shares roles and SecretIDs, and the primary counts uses', () =>
  drill('AppRole on a performance pair', async (on) => {
    on.step('a role made through C, and SecretIDs made on both sides')
    await on.ok(C, 'POST', 'auth/approle/role/shared', { secret_id_num_uses: 3, token_policies: ['default'] })
    await on.ok(C, 'POST', 'auth/approle/role/free', { token_policies: ['default'] })
    const id = await roleId(on, A, 'shared')
    expect(await roleId(on, C, 'shared')).toBe(id)
    const limited = await secretId(on, C, 'shared')
    const free = await secretId(on, A, 'free')
    shared = { id, limited, free }

    on.step('one use on C, one on A, one on C; the fourth is refused on both')
    for (const cluster of [C, A, C]) expect((await login(on, cluster, id, limited)).status, cluster.name).toBe(200)
    for (const cluster of [A, C]) {
      expect(await login(on, cluster, id, limited)).toMatchObject({
        status: 400,
        errors: expect.stringContaining(INVALID),
      })
    }

    on.step('a token belongs to the cluster that was asked')
    const freeId = await roleId(on, C, 'free')
    await on.wait(C, 'the SecretID of A', async () => {
      const { status } = await C.anonymous.send('POST', 'auth/approle/login', {
        body: { role_id: freeId, secret_id: free.secret_id },
      })
      return status === 200 ? undefined : `it answers ${status}`
    })
    const answer = await login(on, C, freeId, free)
    tokenOfC = tokenOf(answer)
    await on.ok(C, 'GET', 'auth/token/lookup-self', undefined, { token: tokenOfC })
    await on.refused(A, 'GET', 'auth/token/lookup-self', undefined, 403, 'permission denied', { token: tokenOfC })

    on.step('a batch token belongs to all')
    await on.ok(C, 'POST', 'auth/approle/role/batch', { token_policies: ['default'], token_type: 'batch' })
    const batch = await login(on, C, await roleId(on, C, 'batch'), await secretId(on, C, 'batch'))
    for (const cluster of [A, C]) {
      await on.ok(cluster, 'GET', 'auth/token/lookup-self', undefined, { token: tokenOf(batch) })
    }
    await checkMonitoring(on, A, C, 'performance', 'c')
  }))

it('a cluster loses its own SecretIDs and tokens when it becomes a secondary', () =>
  drill('AppRole and the wipe', async (on) => {
    const E = await clusters.add('E')
    await on.ok(E, 'POST', 'sys/auth/approle', { type: 'approle' })
    await on.ok(E, 'POST', 'auth/approle/role/own', { local_secret_ids: true, token_policies: ['default'] })
    const [id, own] = [await roleId(on, E, 'own'), await secretId(on, E, 'own')]
    const token = tokenOf(await login(on, E, id, own))
    await on.ok(E, 'GET', 'auth/token/lookup-self', undefined, { token })
    await clusters.join(A, E, 'performance', 'e')
    await checkMonitoring(on, A, E, 'performance', 'e')
    await on.refused(E, 'GET', 'auth/token/lookup-self', undefined, 403, 'permission denied', { token })
    expect(await login(on, E, id, own)).toMatchObject({ status: 400, errors: expect.stringContaining(INVALID) })
    expect((await on.call(E, 'GET', 'auth/approle/role/own')).status).toBe(404)
    expect(await roleId(on, E, 'shared')).toBe(shared.id)
    await E.close()
    await on.ok(A, 'POST', 'sys/replication/performance/primary/revoke-secondary', { id: 'e' })
  }))

it('local SecretIDs stay on the cluster that issued them', () =>
  drill('local SecretIDs', async (on) => {
    await on.ok(A, 'POST', 'auth/approle/role/local', { local_secret_ids: true, secret_id_num_uses: 9 })
    const id = await roleId(on, A, 'local')
    await on.wait(C, 'the role', async () => {
      const { status } = await C.client.send('GET', 'auth/approle/role/local')
      return status === 200 ? undefined : `it answers ${status}`
    })
    local = { id, onA: await secretId(on, A, 'local'), onC: await secretId(on, C, 'local') }
    expect((await login(on, A, id, local.onA)).status).toBe(200)
    expect((await login(on, C, id, local.onC)).status).toBe(200)
    expect((await login(on, C, id, local.onC)).status).toBe(200)
    for (const [cluster, foreign] of [
      [A, local.onC],
      [C, local.onA],
    ] as const) {
      expect(await login(on, cluster, id, foreign)).toMatchObject({
        status: 400,
        errors: expect.stringContaining(INVALID),
      })
      const accessor = { secret_id_accessor: foreign.secret_id_accessor }
      expect(
        (await on.call(cluster, 'POST', 'auth/approle/role/local/secret-id-accessor/lookup', accessor)).status,
      ).toBe(404)
      const list = await on.ok(cluster, 'LIST', 'auth/approle/role/local/secret-id')
      expect(list.data.keys).toEqual([(cluster === A ? local.onA : local.onC).secret_id_accessor])
    }
    expect(await usesLeft(on, A, 'local', local.onA)).toBe(8)
    expect(await usesLeft(on, C, 'local', local.onC)).toBe(7)
  }))

it('a filter removes the AppRole mount from a secondary, and its removal restores the mount', () =>
  drill('a filtered auth mount', async (on) => {
    const filter = 'sys/replication/performance/primary/paths-filter/c'
    await on.ok(A, 'POST', filter, { mode: 'deny', paths: ['auth/approle/'] })
    const nil = (path: string) => `no handler for route "${path}". route entry found, but backend is nil.`
    await on.wait(C, 'the mount to be filtered', async () => {
      const { status } = await C.client.send('GET', 'auth/approle/role/free')
      return status === 404 ? undefined : `it answers ${status}`
    })
    await on.wait(C, 'the purge', async () => {
      const { purge_pending } = await C.anonymous.call('GET', '/_understudy/v1/info')
      return purge_pending === false ? undefined : 'it is pending'
    })
    await C.untilServes()
    const refusedLogin = await login(on, C, shared.id, shared.free)
    expect(refusedLogin).toMatchObject({ status: 404, errors: nil('auth/approle/login') })
    await on.refused(C, 'GET', 'auth/approle/role/free', undefined, 404, nil('auth/approle/role/free'))
    await on.refused(C, 'POST', 'auth/approle/role/new', {}, 404, nil('auth/approle/role/new'))
    expect((await on.ok(C, 'GET', 'sys/auth')).data['approle/']).toBeUndefined()
    expect((await login(on, A, await roleId(on, A, 'free'), shared.free)).status).toBe(200)
    await checkMonitoring(on, A, C, 'performance', 'c')

    on.step('lifted: roles and shared SecretIDs are back, and C has kept what was its own')
    await on.ok(A, 'DELETE', filter)
    await on.wait(C, 'the role', async () => {
      const { status } = await C.client.send('GET', 'auth/approle/role/free')
      return status === 200 ? undefined : `it answers ${status}`
    })
    expect((await login(on, C, await roleId(on, C, 'free'), shared.free)).status).toBe(200)
    expect(await usesLeft(on, C, 'local', local.onC)).toBe(7)
    expect((await login(on, C, local.id, local.onC)).status).toBe(200)
    expect(await usesLeft(on, C, 'local', local.onC)).toBe(6)
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')
  }))

it('a promoted DR copy has the tokens, SecretIDs and remaining uses of its primary', () =>
  drill('AppRole after failover', async (on) => {
    await on.ok(A, 'POST', 'sys/mounts/eu_local', { type: 'kv', local: true })
    await on.write(A, 'eu_local/it', 'local to A')
    const half = await secretId(on, A, 'shared')
    const first = await login(on, A, shared.id, half)
    expect(first.status).toBe(200)
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    await checkMonitoring(on, A, C, 'performance', 'c')
    await checkMonitoring(on, C, D, 'dr', 'dr-d')
    const rootToken = A.rootToken

    on.step('a DR copy serves no AppRole')
    expect(await login(on, B, shared.id, half)).toMatchObject({ status: 400, errors: DR_GATE })
    for (const [method, path] of [
      ['GET', 'auth/approle/role/shared'],
      ['LIST', 'auth/approle/role'],
      ['POST', 'auth/approle/role/shared/secret-id'],
    ] as const) {
      await on.refused(B, method, path, undefined, 400, DR_GATE, { token: rootToken })
    }

    on.step('A takes one more use, which B does not apply, and is killed')
    await on.ok(B, 'POST', '/_understudy/v1/states/hold', { state: 'apply', kind: 'dr' })
    expect((await login(on, A, shared.id, half)).status).toBe(200)
    expect(await usesLeft(on, A, 'shared', half)).toBe(1)
    await A.server.crash()

    on.step('without a primary C takes no use of a shared SecretID; all else goes on')
    expect((await login(on, C, await roleId(on, C, 'free'), shared.free)).status).toBe(200)
    expect((await login(on, C, local.id, local.onC)).status).toBe(200)
    expect(await login(on, C, shared.id, half)).toMatchObject({
      status: 503,
      errors: expect.stringContaining('primary cluster is unreachable'),
    })
    expect(await usesLeft(on, C, 'local', local.onC)).toBe(5)

    on.step('B takes the place of A, with its local SecretIDs, local mounts and tokens; the use comes back')
    const promote = { dr_operation_token: await operationToken(B), force: true }
    await on.change(B, 'dr/secondary/promote', promote, 'is being promoted')
    B.seal = { ...B.seal, rootToken }
    await B.untilServes()
    expect(await on.read(B, 'eu_local/it')).toBe('local to A')
    expect(await usesLeft(on, B, 'local', local.onA)).toBe(8)
    expect(await usesLeft(on, B, 'shared', half)).toBe(2)
    await on.ok(B, 'GET', 'auth/token/lookup-self', undefined, { token: tokenOf(first) })
    expect((await login(on, B, local.id, local.onA)).status).toBe(200)
    for (const status of [200, 200, 400]) expect((await login(on, B, shared.id, half)).status).toBe(status)
    await checkMonitoring(on, B, C, 'performance', 'c')

    on.step('D takes the place of C, with its local SecretIDs and tokens, and follows B')
    const rootOfC = C.rootToken
    // D cannot be promoted without the index that C had announced.
    await checkMonitoring(on, C, D, 'dr', 'dr-d')
    await C.server.crash()
    await promoteDr(D, rootOfC)
    await on.status(D, 'performance', { mode: 'secondary', state: 'stream-wals', connection_state: 'ready' })
    expect(await usesLeft(on, D, 'local', local.onC)).toBe(5)
    expect((await login(on, D, local.id, local.onC)).status).toBe(200)
    expect((await login(on, D, local.id, local.onA)).status).toBe(400)
    await on.ok(D, 'GET', 'auth/token/lookup-self', undefined, { token: tokenOfC })
    last = await secretId(on, D, 'shared')
    expect((await login(on, D, shared.id, last)).status).toBe(200)
    expect(await usesLeft(on, B, 'shared', last)).toBe(2)
    await checkMonitoring(on, B, D, 'performance', 'c')
  }))

it('local SecretIDs stay on their cluster when primary and secondary exchange roles', () =>
  drill('AppRole after a performance switchover', async (on) => {
    await on.change(B, 'performance/primary/demote', {}, 'is being demoted')
    await on.status(B, 'performance', { mode: 'secondary', state: 'idle' })
    await on.change(D, 'performance/secondary/promote', {}, 'is being promoted')
    await on.status(D, 'performance', { mode: 'primary', state: 'running' })
    await D.untilServes()
    const token = await on.token(D, 'performance', 'b')
    await on.change(B, 'performance/secondary/update-primary', { token }, 'has successfully found')
    await checkMonitoring(on, D, B, 'performance', 'b')
    await B.untilServes()
    for (const [cluster, own, foreign, uses] of [
      [B, local.onA, local.onC, 7],
      [D, local.onC, local.onA, 4],
    ] as const) {
      expect(await usesLeft(on, cluster, 'local', own), cluster.name).toBe(uses)
      expect((await login(on, cluster, local.id, own)).status).toBe(200)
      expect(await usesLeft(on, cluster, 'local', own), cluster.name).toBe(uses - 1)
      expect((await login(on, cluster, local.id, foreign)).status).toBe(400)
    }

    on.step('uses of shared SecretIDs count on D now')
    expect((await login(on, B, shared.id, last)).status).toBe(200)
    expect(await usesLeft(on, D, 'shared', last)).toBe(1)
  }))
