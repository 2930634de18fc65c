import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { as, authOf, dataOf, DENIED, INVALID_TOKEN, refusalOf } from '../support/wire.js'

/**
 * Namespaces: created, nested, named by header or by path, each with its own mounts, policies and tokens, and deleted.
 */
let server: OpenServerProcess
let root: ReturnType<typeof as>
const inside = (namespace: string, token = server.rootToken) =>
  as(server.address, token, { 'X-Vault-Namespace': namespace })

beforeAll(async () => {
  server = await startOpenServerProcess()
  root = as(server.address, server.rootToken)
})
afterAll(() => server?.[Symbol.asyncDispose]())

it('a new server has no namespaces', async () => {
  expect(refusalOf(await root('LIST', 'sys/namespaces'))).toEqual([404, []])
  expect(refusalOf(await root('GET', 'sys/namespaces/team'))).toEqual([404, []])
})

it('a namespace is created with an ID, a path and metadata, and can be read', async () => {
  const made = dataOf(await root('POST', 'sys/namespaces/team', { custom_metadata: { owner: 'me' } }))
  expect(made).toEqual({ id: expect.stringMatching(/^\w{5}$/), path: 'team/', custom_metadata: { owner: 'me' } })
  expect(dataOf(await root('GET', 'sys/namespaces/team'))).toEqual(made)
  expect(dataOf(await root('LIST', 'sys/namespaces'))).toEqual({ keys: ['team/'], key_info: { 'team/': made } })
})

it('a patch changes the metadata of a namespace', async () => {
  const merge = { 'Content-Type': 'application/merge-patch+json' }
  const patched = await root('PATCH', 'sys/namespaces/team', { custom_metadata: { more: 'x' } }, merge)
  expect(dataOf(patched).custom_metadata).toEqual({ owner: 'me', more: 'x' })
  expect((await root('PATCH', 'sys/namespaces/none', { custom_metadata: {} }, merge)).status).toBe(404)
})

it('namespaces nest, by header and by path', async () => {
  expect(dataOf(await inside('team')('POST', 'sys/namespaces/child')).path).toBe('team/child/')
  expect(dataOf(await root('POST', 'team/child/sys/namespaces/deep')).path).toBe('team/child/deep/')
  expect(dataOf(await inside('team')('LIST', 'sys/namespaces')).keys).toEqual(['child/'])
  expect(dataOf(await inside('/team/child/')('GET', 'sys/namespaces/deep')).path).toBe('team/child/deep/')
  expect(dataOf(await root('LIST', 'sys/namespaces')).keys).toEqual(['team/'])
})

it('a namespace has its own mounts, addressed by header, path or both, and responses repeat the header', async () => {
  expect((await inside('team/child')('POST', 'sys/mounts/kv', { type: 'kv' })).status).toBe(204)
  expect((await inside('team')('PUT', 'child/kv/a', { word: 'x' })).status).toBe(204)
  for (const [namespace, path] of [
    ['team/child', 'kv/a'],
    ['team', 'child/kv/a'],
    ['', 'team/child/kv/a'],
  ] as const) {
    const read = await (namespace === '' ? root : inside(namespace))('GET', path)
    expect(dataOf(read)).toEqual({ word: 'x' })
    expect(read.headers['x-vault-namespace']).toBe(namespace === '' ? undefined : namespace)
  }
  expect((await root('GET', 'kv/a')).status).toBe(404)
  expect(Object.keys(dataOf(await inside('team')('GET', 'sys/mounts')))).not.toContain('kv/')
  expect(dataOf(await root('GET', 'team/child/sys/internal/ui/mounts/kv/a')).path).toBe('kv/')
})

it('an unknown namespace is 404, and a root-only path is 400 in other namespaces', async () => {
  expect(refusalOf(await inside('none')('GET', 'sys/mounts'))).toEqual([404, ['namespace not found']])
  expect(refusalOf(await inside('team')('PUT', 'sys/replication/dr/primary/enable'))).toEqual([
    400,
    ['operation unavailable in namespaces'],
  ])
})

it('policies and tokens apply in their namespace and below it, not above or beside it', async () => {
  const policy = 'path "kv/*" { capabilities = ["read"] } path "child/kv/*" { capabilities = ["read"] }'
  await inside('team')('PUT', 'sys/policies/acl/reader', { policy })
  expect((await root('GET', 'sys/policies/acl/reader')).status).toBe(404)
  const { id } = dataOf(await root('GET', 'sys/namespaces/team'))
  const { client_token, accessor } = authOf(await inside('team')('POST', 'auth/token/create', { policies: ['reader'] }))
  const token = String(client_token)
  expect([token, String(accessor)].map((text) => text.split('.').at(-1))).toEqual([id, id])
  expect(dataOf(await inside('team', token)('GET', 'child/kv/a'))).toEqual({ word: 'x' })
  expect(dataOf(await inside('team/child', token)('GET', 'kv/a'))).toEqual({ word: 'x' })
  expect(dataOf(await inside('team', token)('GET', 'auth/token/lookup-self')).namespace_path).toBe('team/')
  expect(refusalOf(await as(server.address, token)('GET', 'sys/mounts'))).toEqual([403, [DENIED]])
})

it('a namespace with children cannot be deleted', async () => {
  expect((await root('DELETE', 'sys/namespaces/team')).status).toBe(400)
  expect((await root('GET', 'sys/namespaces/team')).status).toBe(200)
})

it('deleting a namespace removes its mounts, policies and tokens, and a new one of its name is empty', async () => {
  const { client_token } = authOf(
    await inside('team/child/deep')('POST', 'auth/token/create', { policies: ['default'] }),
  )
  await inside('team/child/deep')('POST', 'sys/mounts/kv', { type: 'kv' })
  await inside('team/child/deep')('PUT', 'kv/a', { word: 'x' })
  await inside('team/child/deep')('PUT', 'sys/policies/acl/mine', { policy: 'path "a" { capabilities = ["read"] }' })
  expect((await root('DELETE', 'team/child/sys/namespaces/deep')).status).toBe(204)
  expect((await root('DELETE', 'team/child/sys/namespaces/deep')).status).toBe(204)
  expect(refusalOf(await inside('team/child/deep')('GET', 'sys/mounts'))).toEqual([404, ['namespace not found']])
  await root('POST', 'team/child/sys/namespaces/deep')
  expect((await inside('team/child/deep')('GET', 'kv/a')).status).toBe(404)
  expect((await inside('team/child/deep')('GET', 'sys/policies/acl/mine')).status).toBe(404)
  const dead = await inside('team/child/deep', String(client_token))('GET', 'auth/token/lookup-self')
  expect(refusalOf(dead)).toEqual([403, [INVALID_TOKEN]])
})

it.each(['root', 'sys', 'auth', 'cubbyhole', 'identity', 'audit', 'a/b', 'a b/'])(
  'the server rejects %j as the name of a namespace',
  async (name) => {
    const answer = await root('POST', `sys/namespaces/${encodeURIComponent(name)}`)
    expect(answer.status, answer.text).toBe(400)
  },
)
