import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'
import { watchStatus } from '../support/repeat.js'

/**
 * A performance pair: set up (F6), local mounts (F8), the primary at another address (F10), and reads of writes from
 * the other cluster (F15).
 */
const clusters = openClusters()
let A: Cluster
let B: Cluster
let C: Cluster

beforeAll(async () => {
  A = await clusters.add('A', { hasLink: true })
  B = await clusters.add('B')
  C = await clusters.add('C', { hasLink: true })
})

const loginOf = (answer: { readonly body: Readonly<Record<string, unknown>> }) =>
  String((answer.body.auth as { client_token: string }).client_token)

it('F6: a performance pair is set up', () =>
  drill('F6 performance setup', async (on) => {
    on.step('A has users, a policy and a secret')
    await on.ok(A, 'POST', 'sys/auth/userpass', { type: 'userpass' })
    await on.ok(A, 'PUT', 'sys/policies/acl/app', { policy: 'path "kv/*" { capabilities = ["read", "list"] }' })
    await on.ok(A, 'PUT', 'auth/userpass/users/ada', { password: 'pw', policies: ['app'] })
    await on.ok(A, 'POST', 'sys/auth/approle', { type: 'approle' })
    await on.ok(A, 'POST', 'auth/approle/role/app', { token_policies: ['app'] })
    const { role_id } = (await on.ok(A, 'GET', 'auth/approle/role/app/role-id')).data
    const { secret_id } = (await on.ok(A, 'POST', 'auth/approle/role/app/secret-id', {})).data
    await on.ok(A, 'POST', 'sys/mounts/kv', { type: 'kv' })
    await on.write(A, 'kv/before', 'before C joined')
    const oldRoot = C.rootToken

    on.step('C joins')
    await on.change(A, 'performance/primary/enable', {}, 'is being enabled as a primary')
    await on.status(A, 'performance', { mode: 'primary' })
    await A.untilServes()
    const token = await on.token(A, 'performance', 'c')
    await on.change(C, 'performance/secondary/enable', { token }, 'has successfully found')
    C.seal = { ...A.seal, rootToken: '' }
    expect(await on.health(C, 200)).toMatchObject({
      replication_performance_mode: expect.stringMatching(/secondary|bootstrapping/),
    })
    await checkMonitoring(on, A, C, 'performance', 'c')
    await C.untilServes()
    expect(await on.health(C, 200)).toMatchObject({
      replication_performance_mode: 'secondary',
      replication_dr_mode: 'disabled',
    })

    on.step('its own root token is gone; users and roles of A log in on C, with a token of C')
    await on.refused(C, 'GET', 'auth/token/lookup-self', undefined, 403, 'permission denied', { token: oldRoot })
    for (const login of [
      await on.ok(C, 'POST', 'auth/userpass/login/ada', { password: 'pw' }),
      await on.ok(C, 'POST', 'auth/approle/login', { role_id, secret_id }),
    ]) {
      const token = loginOf(login)
      expect((await on.ok(C, 'GET', 'kv/before', undefined, { token })).data.value).toBe('before C joined')
      await on.refused(A, 'GET', 'auth/token/lookup-self', undefined, 403, 'permission denied', { token })
    }
    await clusters.takeRoot(C)

    on.step('shared data written on either is on both')
    await on.write(A, 'kv/on-a', 'from A')
    await on.reads(C, 'kv/on-a', 'from A')
    await on.write(C, 'kv/on-c', 'from C')
    expect(await on.read(A, 'kv/on-c')).toBe('from C')
    await on.ok(C, 'PUT', 'sys/policies/acl/by-c', { policy: 'path "x" {}' })
    expect((await on.ok(A, 'GET', 'sys/policies/acl/by-c')).data.policy).toBe('path "x" {}')
    await on.ok(C, 'POST', 'sys/mounts/by-c', { type: 'kv' })
    await on.write(A, 'by-c/it', 'in a mount made through C')
    await on.reads(C, 'by-c/it', 'in a mount made through C')
    await checkMonitoring(on, A, C, 'performance', 'c')
  }))

it('F8: local mounts do not replicate', () =>
  drill('F8 local mounts', async (on) => {
    await clusters.join(A, B, 'dr', 'dr-b')
    await on.ok(C, 'POST', 'sys/mounts/us_west', { type: 'kv', local: true })
    await on.write(C, 'us_west/it', 'on C only')
    await on.ok(A, 'POST', 'sys/mounts/eu_local', { type: 'kv', local: true })
    await on.write(A, 'eu_local/it', 'on A and its copy')
    await checkMonitoring(on, A, C, 'performance', 'c')
    await on.refused(A, 'GET', 'us_west/it', undefined, 404, 'no handler for route')
    await on.refused(C, 'GET', 'eu_local/it', undefined, 404, 'no handler for route')

    on.step('a merkle sync of C leaves its local data alone')
    await on.ok(C, 'POST', '/_understudy/v1/faults/corrupt', { tree: 'replicated', page: 7 })
    await on.ok(C, 'POST', 'sys/replication/reindex', {})
    await checkMonitoring(on, A, C, 'performance', 'c')
    expect(await on.read(C, 'us_west/it')).toBe('on C only')
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
  }))

it('F10: a secondary follows its primary to another address', () =>
  drill('F10 update_primary_addrs', async (on) => {
    const update = 'sys/replication/performance/secondary/update-primary'
    const direct = `127.0.0.1:${A.server.ports.cluster}`
    const { primary_cluster_addr: before, known_primary_cluster_addrs: known } = await C.status('performance')
    await on.refused(
      C,
      'POST',
      update,
      { update_primary_addrs: ['127.0.0.1:1'], token: 'x' },
      400,
      'token and update_primary_addrs are mutually exclusive',
    )
    await on.refused(C, 'POST', update, {}, 400, 'one of token or update_primary_addrs is required')
    await on.refused(
      C,
      'POST',
      update,
      { update_primary_addrs: ['127.0.0.1:1', '127.0.0.1:2'] },
      400,
      'none of update_primary_addrs answered',
    )
    expect(await C.status('performance')).toMatchObject({
      primary_cluster_addr: before,
      known_primary_cluster_addrs: known,
      connection_state: 'ready',
    })

    on.step('the address that C knows is gone; another leads to the same port')
    const watch = watchStatus(C, 'performance')
    await A.link.down()
    await on.wait(C, 'the link to be lost', async () => {
      const { connection_state } = await C.status('performance')
      return connection_state === 'ready' ? 'it is ready' : undefined
    })
    const moved = await on.ok(C, 'POST', update, { update_primary_addrs: ['127.0.0.1:1', direct] })
    expect(moved.body.data).toBeNull()
    expect(moved.warnings[0]).toContain(direct)
    await on.status(C, 'performance', {
      connection_state: 'ready',
      state: 'stream-wals',
      primary_cluster_addr: `https://${direct}`,
    })
    await on.write(A, 'kv/f10', 'over the new address')
    await on.reads(C, 'kv/f10', 'over the new address')
    await watch.stop()
    expect(watch.failures).toEqual([])
    expect([...watch.states.keys()], 'where the data stands is no matter of the link').toEqual(['stream-wals'])

    on.step('a comma-separated text does, too; and a cluster without credentials is refused')
    await A.link.up()
    await on.ok(C, 'POST', update, { update_primary_addrs: `127.0.0.1:1,https://${A.link.address}` })
    await on.status(C, 'performance', { connection_state: 'ready', primary_cluster_addr: `https://${A.link.address}` })
    await checkMonitoring(on, A, C, 'performance', 'c')
  }))

it('F15: a cluster serves reads of writes from the other cluster', () =>
  drill('F15 read your writes', async (on) => {
    await on.ok(C, 'POST', '/_understudy/v1/states/hold', { state: 'apply', kind: 'performance' })
    const written = await on.write(A, 'kv/f15', 'written on A')
    const index = String(written.headers['x-vault-index'])
    expect(Buffer.from(index, 'base64').toString()).toMatch(/^v1:[0-9a-f-]+:\d+:\d+:[0-9a-f]{64}$/)
    const headers = { 'X-Vault-Index': index }
    await on.refused(C, 'GET', 'kv/f15', undefined, 412, 'required index state not present', { headers })
    expect(await on.read(C, 'kv/f15'), 'without the header the old state is read').toBeUndefined()
    await on.ok(C, 'POST', '/_understudy/v1/states/release', {})
    await on.wait(C, 'the index', async () => {
      const { status, json } = await C.client.send('GET', 'kv/f15', { headers })
      const value = (json?.data as { value?: unknown } | null | undefined)?.value
      return status === 200 && value === 'written on A' ? undefined : `it answers ${status}`
    })
    await checkMonitoring(on, A, C, 'performance', 'c')
  }))
