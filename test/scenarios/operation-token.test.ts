import { beforeAll, expect, it } from 'vitest'
import { clientOf } from '../../src/lab/model/cluster.js'
import { operationToken } from '../support/ceremony.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { DR_GATE, drill } from '../support/drill.js'

/**
 * What can replace an operation token on a DR secondary: a batch token of the root namespace, within its restrictions.
 */
const clusters = openClusters()
const DR = 'sys/replication/dr/secondary'
const POLICY = `
  path "${DR}/*" { capabilities = ["update"] }
  path "sys/storage/raft/*" { capabilities = ["read", "update"] }`

let A: Cluster
let B: Cluster
const tokens: Record<string, string> = {}

beforeAll(async () => {
  A = await clusters.add('A')
  B = await clusters.add('B')
  await clusters.makePrimary(A, 'dr')
  await A.client.write('sys/namespaces/ns1', {})
  await A.client.write('auth/token/roles/elsewhere', {
    allowed_policies: ['failover'],
    token_type: 'batch',
    renewable: false,
    orphan: true,
    token_bound_cidrs: ['10.20.0.0/16'],
  })
  const batch = { type: 'batch', policies: ['failover'], ttl: '1h' }
  for (const [name, namespace] of [
    ['own', ''],
    ['namespaced', 'ns1'],
  ] as const) {
    const headers = { 'x-vault-namespace': namespace }
    await A.client.send('PUT', 'sys/policies/acl/failover', { body: { policy: POLICY }, headers })
    const made = await A.client.send('POST', 'auth/token/create', { body: { ...batch, no_parent: true }, headers })
    tokens[name] = tokenOf(made.json)
  }
  const { ttl, policies } = batch
  tokens.bound = tokenOf((await A.client.send('POST', 'auth/token/create/elsewhere', { body: { ttl, policies } })).json)
  tokens.service = tokenOf((await A.client.send('POST', 'auth/token/create', { body: { policies } })).json)
  tokens.root = A.rootToken
  await clusters.join(A, B, 'dr', 'dr-b')
})

const tokenOf = (json: Readonly<Record<string, unknown>> | undefined): string =>
  String((json?.auth as { client_token?: unknown } | undefined)?.client_token)

const refused = ['namespaced', 'bound', 'service', 'root'] as const

it.each(refused)('a DR secondary rejects as an operation token: %s', (name) =>
  drill(`${name} token`, async (on) => {
    const dr_operation_token = tokens[name]
    expect(dr_operation_token).toMatch(/^hv[bs]\./)
    for (const operation of ['promote', 'merkle-check', 'disable', 'update-primary', 'operation-token/delete']) {
      await on.refused(B, 'POST', `${DR}/${operation}`, { dr_operation_token }, 403, 'permission denied')
    }
    const raft = `sys/storage/raft/autopilot/state?dr_operation_token=${dr_operation_token}`
    await on.refused(B, 'GET', raft, undefined, 400, DR_GATE)
    expect(await B.status('dr')).toMatchObject({ mode: 'secondary' })
  }),
)

it('a DR secondary accepts a batch token of the root namespace for the paths of its policies', () =>
  drill('a batch token', async (on) => {
    await on.ok(B, 'POST', `${DR}/merkle-check`, { dr_operation_token: tokens.own })
    await on.ok(B, 'POST', `${DR}/generate-public-key`, { dr_operation_token: tokens.own })
    const generated = await operationToken(B)
    await on.ok(B, 'POST', `${DR}/merkle-check`, { dr_operation_token: generated })
    await on.refused(
      B,
      'POST',
      `${DR}/generate-public-key`,
      { dr_operation_token: tokens.bound },
      403,
      'permission denied',
    )
    const inNamespace = { headers: { 'x-vault-namespace': 'ns1' } }
    const body = { dr_operation_token: tokens.own }
    expect((await on.call(B, 'POST', `${DR}/merkle-check`, body, inNamespace)).status).toBe(400)
  }))

it('a client token of the root namespace can generate a public key on a DR secondary', () =>
  drill('generate-public-key', async () => {
    const statuses: Record<string, number> = {}
    for (const name of ['own', 'service', 'root', 'namespaced', 'bound'] as const) {
      const client = clientOf({ apiAddress: B.apiAddress, rootToken: tokens[name] ?? '' })
      statuses[name] = (await client.send('POST', `${DR}/generate-public-key`, { body: {} })).status
    }
    expect(statuses).toEqual({ own: 200, service: 200, root: 200, namespaced: 403, bound: 403 })
  }))

it('a read of the second ceremony step fails because it has no key', () =>
  drill('GET update', async (on) => {
    const step = `${DR}/generate-operation-token/update`
    const asked = await on.refused(B, 'GET', step, undefined, 400, '')
    await on.refused(A, 'GET', step, undefined, 400, 'cluster is not a DR secondary')
    expect(asked.errors).toBe((await on.call(A, 'GET', 'sys/generate-root/update')).errors)
  }))

it('outside of DR secondaries, generate-public-key checks the token like any other path', () =>
  drill('generate-public-key on a primary', async (on) => {
    const call = (token: string) => on.call(A, 'POST', `${DR}/generate-public-key`, {}, { token })
    const { accessor: _, ...poor } = (await A.client.write('auth/token/create', { policies: ['default'] })).auth as {
      accessor: string
      client_token: string
    }
    const denied = await call(poor.client_token)
    expect([denied.status, denied.errors]).toEqual([403, '1 error occurred:\n\t* permission denied\n\n'])
    const unknown = await call('hvs.nobody')
    expect([unknown.status, unknown.errors]).toEqual([
      403,
      '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n',
    ])
    const body = { dr_operation_token: tokens.own }
    const anonymous = await on.call(A, 'POST', `${DR}/generate-public-key`, body, { isAnonymous: true })
    expect([anonymous.status, anonymous.errors]).toEqual([403, 'permission denied'])
  }))
