import { expect, test } from 'vitest'
import type { LogicalError } from '../../../src/logical/errors.js'
import type { JsonObject } from '../../../src/logical/json.js'
import type { Operation } from '../../../src/logical/request.js'
import { dataKey } from '../../../src/storage/keys/raw-keys.js'
import { type ControlCluster, openWorld, operationToken, SHARED_KEY } from '../../support/control-cluster.js'
import { until } from '../../support/until.js'

const { start } = openWorld()

const refused = async (
  cluster: ControlCluster,
  operation: Operation,
  path: string,
  data: JsonObject = {},
): Promise<string> => {
  try {
    await cluster.call(operation, `replication/${path}`, data)
  } catch (error) {
    const { code, message } = error as LogicalError
    return `${code}: ${message}`
  }
  return 'answered'
}

/** A batch token whose policy names one path. */
const batchToken = async (cluster: ControlCluster, path: string): Promise<string> => {
  await cluster.write('sys/policies/acl/one', { policy: `path "${path}" { capabilities = ["update"] }` })
  const { auth } = await cluster.write('auth/token/create', { type: 'batch', policies: ['one'] })
  return (auth as { readonly client_token: string }).client_token
}

const DR_OPERATIONS = [
  'promote',
  'disable',
  'update-primary',
  'reindex',
  'recover',
  'merkle-check',
  'operation-token/delete',
] as const

test.each(DR_OPERATIONS)('dr/secondary/%s checks a request in the order of the contract', async (operation) => {
  const path = `dr/secondary/${operation}`
  const a = await start('a')
  expect(await refused(a, 'read', path)).toContain('unsupported-operation')
  expect(await refused(a, 'update', path, { dr_operation_token: {} })).toContain('invalid-request: Field validation')
  expect(await refused(a, 'update', path, {})).toBe('invalid-request: cluster is not a DR secondary')
  await a.change('replication/dr/primary/enable')
  await a.change('replication/dr/primary/demote')
  expect(await refused(a, 'update', path, {})).toBe('invalid-request: missing dr_operation_token')
  const wrong = { dr_operation_token: 'hvs.wrong' }
  expect(await refused(a, 'update', path, wrong)).toBe('permission-denied: permission denied')
})

test('an operation token permits everything until it is deleted, and a batch token what its policy permits', async () => {
  const a = await start('a')
  const batch = { dr_operation_token: await batchToken(a, 'sys/replication/dr/secondary/merkle-check') }
  await a.change('replication/dr/primary/enable')
  await a.change('replication/dr/primary/demote')
  const dr_operation_token = await operationToken(a)
  expect(dr_operation_token).toMatch(/^hvs\.[0-9A-Za-z]{24}$/)
  const check = await a.post('replication/dr/secondary/merkle-check', { dr_operation_token })
  expect(check?.data).toMatchObject({ merkle_corruption_report: { corrupted_root: false } })
  expect(await refused(a, 'update', 'dr/secondary/merkle-check', batch)).toBe('answered')
  expect(await refused(a, 'update', 'dr/secondary/disable', batch)).toContain('permission-denied')
  expect(await a.post('replication/dr/secondary/operation-token/delete', { dr_operation_token })).toBeUndefined()
  const again = await refused(a, 'update', 'dr/secondary/merkle-check', { dr_operation_token })
  expect(again).toContain('permission-denied')
})

test('a new operation token or the end of the role invalidates the previous token', async () => {
  const a = await start('a')
  await a.change('replication/dr/primary/enable')
  await a.change('replication/dr/primary/demote')
  const first = await operationToken(a)
  const second = await operationToken(a)
  expect(a.replication.context.operationTokens.isGood(first)).toBe(false)
  await a.change('replication/dr/secondary/disable', { dr_operation_token: second })
  expect(a.replication.context.operationTokens.isGood(second)).toBe(false)
  expect(a.status('dr')).toEqual({ mode: 'disabled' })
})

test('outside of a DR secondary, the ceremony paths respond as the contract specifies', async () => {
  const a = await start('a')
  const path = 'replication/dr/secondary/generate-operation-token'
  const attempt = await a.call('read', `${path}/attempt`)
  expect(attempt).toMatchObject({ bare: true, data: { started: false, otp_length: 28 } })
  expect(await a.call('delete', `${path}/attempt`)).toBeUndefined()
  const text = 'invalid-request: cluster is not a DR secondary'
  expect(await refused(a, 'update', 'dr/secondary/generate-operation-token/attempt')).toBe(text)
  expect(await refused(a, 'update', 'dr/secondary/generate-operation-token/update')).toBe(text)
  expect(await refused(a, 'read', 'dr/secondary/generate-operation-token/update')).toBe(text)
})

test('only a DR secondary serves its license status', async () => {
  const a = await start('a')
  const path = 'dr/secondary/license/status'
  expect(await refused(a, 'read', path)).toBe('invalid-request: cluster is not a DR secondary')
  await a.change('replication/dr/primary/enable')
  expect(await refused(a, 'read', path)).toBe('invalid-request: cluster is not a DR secondary')
  await a.change('replication/dr/primary/demote')
  expect((await a.call('read', `replication/${path}`))?.data).toMatchObject({ autoloading_used: true })
})

test('the older paths apply to performance replication', async () => {
  const a = await start('a')
  const response = await a.change('replication/primary/enable', { primary_cluster_addr: 'proxy:8201' })
  expect(response).toMatchObject({ data: null })
  expect(response?.warnings?.[0]).toContain('is being enabled as a primary for replication')
  expect(response?.warnings?.[0]).toContain('will be unavailable for a brief period')
  expect((await a.call('read', 'replication/status'))?.data).toMatchObject({
    dr: { mode: 'disabled' },
    performance: { mode: 'primary', primary_cluster_addr: 'https://proxy:8201' },
  })
  const issued = await a.post('replication/primary/secondary-token', { id: 'c' })
  expect(issued?.wrapInfo).toMatchObject({ ttlSeconds: 1800, creationPath: 'sys/replication/primary/secondary-token' })
  expect(await refused(a, 'read', 'performance/primary/mount-filter/c')).toContain('unsupported-path')
  await a.change('replication/primary/disable')
  expect(a.status('performance')).toEqual({ mode: 'disabled' })
})

test('enabling a primary again creates another set', async () => {
  const a = await start('a')
  await a.change('replication/dr/primary/enable')
  const before = a.status('dr').cluster_id
  await a.change('replication/dr/primary/disable')
  await a.change('replication/dr/primary/enable')
  expect(a.status('dr').cluster_id).not.toBe(before)
})

test.each(['0', '-5m', 'soon', '769h', 0])('the ttl %j of an activation token is rejected', async (ttl) => {
  const a = await start('a')
  await a.change('replication/dr/primary/enable')
  expect(await refused(a, 'update', 'dr/primary/secondary-token', { id: 'b', ttl })).toBe(
    'invalid-request: invalid ttl',
  )
})

test('a licence without replication has none, and one without DR refuses DR', async () => {
  const a = await start('a', { license: 'none' })
  const p = await start('p', { license: 'plus' })
  expect(await refused(a, 'update', 'performance/primary/enable')).toBe('not-found: enterprise-only feature')
  expect(await refused(a, 'read', 'performance/primary/paths-filter/c')).toBe('not-found: enterprise-only feature')
  expect(await refused(a, 'read', 'performance/status')).toBe('answered')
  const text = 'invalid-request: DR replication is not included in this license'
  expect(await refused(p, 'update', 'dr/primary/enable')).toBe(text)
  expect(await refused(p, 'update', 'dr/secondary/generate-operation-token/attempt')).toBe(text)
  expect(await refused(p, 'update', 'performance/primary/demote')).toContain('not a performance primary')
})

test('public keys came with version 1.3', async () => {
  const a = await start('a', { reported_version: '1.2.9' })
  expect(await refused(a, 'update', 'performance/secondary/generate-public-key')).toContain('unsupported-path')
  await a.change('replication/performance/primary/enable')
  const secondary_public_key = Buffer.alloc(32, 9).toString('base64')
  const asked = refused(a, 'update', 'performance/primary/secondary-token', { id: 'c', secondary_public_key })
  expect(await asked).toBe(
    'invalid-request: invalid secondary_public_key: tokens for a public key need version 1.3 or newer, this cluster has 1.2.9',
  )
})

test('reindex and merkle-check require enabled replication', async () => {
  const a = await start('a')
  for (const path of ['reindex', 'dr/reindex', 'performance/reindex', 'recover', 'merkle-check']) {
    expect(await refused(a, 'update', path), path).toBe('invalid-request: replication is not enabled')
  }
  await a.change('replication/performance/primary/enable')
  await a.writeValue(SHARED_KEY, 'x')
  expect(await refused(a, 'update', 'dr/reindex')).toBe('invalid-request: replication is not enabled')
  const root = a.status('performance').merkle_root
  a.store.corruptPage('replicated', 3)
  const report = await a.post('replication/merkle-check')
  expect(report?.data).toMatchObject({
    merkle_corruption_report: {
      corrupted_root: true,
      corrupted_tree_map: {
        '1': { tree_type: 'replicated', corrupted_index_tuples_map: { '3': { corrupted: true } } },
      },
    },
  })
  expect(a.status('performance').corrupted_merkle_tree).toBe(true)
  a.holds.hold('performance', 'reindex')
  await a.post('replication/reindex')
  expect(a.status('performance').reindex_in_progress).toBe(true)
  expect(await refused(a, 'update', 'reindex')).toBe('invalid-request: reindex is already running')
  a.holds.release()
  await until(() => a.status('performance').reindex_in_progress === undefined)
  expect(a.status('performance')).toMatchObject({ corrupted_merkle_tree: false, merkle_root: root })
})

test('reindex responds before it checks the data, and stops without a rebuild if the data is damaged', async () => {
  const a = await start('a')
  await a.change('replication/performance/primary/enable')
  await a.writeValue(SHARED_KEY, 'x')
  const root = a.status('performance').merkle_root
  const batch = a.server.host.engine.batch()
  batch.delete(dataKey(SHARED_KEY))
  await batch.write({ isDurable: true })
  const end = () => until(() => a.status('performance').reindex_in_progress === undefined)
  a.holds.hold('performance', 'reindex')
  expect((await a.post('replication/reindex'))?.warnings).toHaveLength(1)
  expect(a.status('performance')).toMatchObject({ reindex_in_progress: true, corrupted_merkle_tree: false })
  a.holds.release()
  await end()
  expect(a.status('performance')).toMatchObject({
    corrupted_merkle_tree: true,
    last_reindex_epoch: '0',
    merkle_root: root,
  })
  await a.post('replication/reindex', { force: true })
  await end()
  expect(a.status('performance').corrupted_merkle_tree).toBe(false)
  expect(a.status('performance').merkle_root).not.toBe(root)
})

test('filters can be stored for future secondaries, and are rejected on other clusters', async () => {
  const a = await start('a')
  const filter = 'performance/primary/paths-filter/c'
  expect(await refused(a, 'update', filter)).toContain('cluster is not a performance primary')
  await a.change('replication/performance/primary/enable')
  expect(await refused(a, 'update', filter, { mode: 'maybe' })).toBe('invalid-request: mode must be allow or deny')
  expect(await refused(a, 'update', filter, { paths: 'sys' })).toBe('invalid-request: "sys/" cannot be filtered')
  expect(await refused(a, 'read', filter)).toBe('not-found: ')
  expect(await refused(a, 'read', 'performance/primary/dynamic-filter/c')).toBe('not-found: ')
  expect(await a.post(`replication/${filter}`, { mode: 'deny', paths: ['secret/', 'secret'] })).toBeUndefined()
  const warned = await a.post(`replication/${filter}`, { paths: 'secret,gone' })
  expect(warned?.warnings).toHaveLength(1)
  expect((await a.call('read', `replication/${filter}`))?.data).toEqual({ mode: 'allow', paths: ['secret/', 'gone/'] })
  await a.call('delete', `replication/${filter}`)
  expect(await a.call('delete', `replication/${filter}`)).toBeUndefined()
  expect(await refused(a, 'read', filter)).toBe('not-found: ')
  const setId = String(a.status('performance').cluster_id)
  await a.post('replication/performance/primary/secondary-token', { id: 'c' })
  await a.post(`replication/performance/primary/paths-filter/${setId}`, { paths: 'secret' })
  expect(await refused(a, 'read', filter)).toBe('answered')
  await a.post('replication/performance/primary/secondary-token', { id: 'd' })
  const ambiguous = await refused(a, 'read', `performance/primary/paths-filter/${setId}`)
  expect(ambiguous).toBe(`invalid-request: id "${setId}" is ambiguous; use one of: c, d`)
})

test('a filter without a match causes a warning about its effect', async () => {
  const a = await start('a')
  await a.change('replication/performance/primary/enable')
  const put = async (data: JsonObject) =>
    (await a.post('replication/performance/primary/paths-filter/c', data))?.warnings
  const gone = (path: string) => `"${path}" is not an existing mount or namespace. It is stored and has no effect yet.`
  const ignored = (path: string) => `"${path}" contains no path and was ignored.`
  const all = 'The filter allows no existing mount: the secondary receives no data of mounts.'
  const none = 'The filter denies no existing mount: the secondary receives all data.'
  expect(await put({})).toEqual([all])
  expect(await put({ mode: 'allow', paths: [] })).toEqual([all])
  expect(await put({ mode: 'allow', paths: ['', '/', '', 'secret'] })).toEqual([ignored(''), ignored('/')])
  expect(await put({ mode: 'allow', paths: ['gone'] })).toEqual([gone('gone/'), all])
  expect(await put({ mode: 'deny', paths: ['/'] })).toEqual([ignored('/'), none])
  expect(await put({ mode: 'deny', paths: [] })).toEqual([none])
  expect(await put({ mode: 'deny', paths: ['gone', 'secret'] })).toEqual([gone('gone/')])
  expect(await put({ mode: 'allow', paths: ['secret'] })).toBeUndefined()
  expect(await put({ mode: 'deny', paths: ['secret'] })).toBeUndefined()
})

test('an unmounted path leaves the filters, and a new mount at that path is not filtered', async () => {
  const a = await start('a')
  await a.change('replication/performance/primary/enable')
  const filter = 'replication/performance/primary/paths-filter/c'
  await a.post(filter, { mode: 'deny', paths: 'secret' })
  const { filters } = a.replication.context
  expect(filters.compiled('c')?.isFiltered('logical/m1/x')).toBe(true)
  expect((await a.send({ method: 'DELETE', path: 'sys/mounts/secret' })).status).toBe(204)
  await a.write('sys/mounts/secret', { type: 'kv' })
  const { uuid } = (await a.send({ method: 'GET', path: 'sys/mounts/secret' })).json.data as { readonly uuid: string }
  expect(filters.find('c')?.paths).toEqual([])
  expect(filters.compiled('c')?.isFiltered(`logical/${uuid}/x`)).toBe(false)
  expect(filters.compiled('c')?.isFiltered('logical/m1/x'), 'the deletions of its keys').toBe(true)
})

test('a null token counts as absent, and does not remove the primary', async () => {
  const a = await start('a')
  await a.change('replication/performance/primary/enable')
  await a.change('replication/performance/primary/demote')
  const { runtime } = a.server
  const update = (path: string, data: JsonObject) => refused(a, 'update', `${path}/update-primary`, data)
  const required = 'invalid-request: one of token or update_primary_addrs is required'
  for (const path of ['performance/secondary', 'secondary']) {
    expect(await update(path, { token: null })).toBe(required)
    expect(await update(path, { token: null, update_primary_addrs: ['a:1'] })).toContain('needs existing credentials')
  }
  expect(a.server.runtime).toBe(runtime)
})

test('primary_cluster_addr is validated on input', async () => {
  const a = await start('a')
  const enable = (primary_cluster_addr: string) => a.post('replication/dr/primary/enable', { primary_cluster_addr })
  for (const address of [
    'not an address',
    'host',
    'http://a:1',
    'a:0',
    'a:65536',
    'https://a:1/x',
    'u@a:1',
    '[::1]',
    'a:1,b:2',
    ':1',
  ]) {
    await expect(enable(address), address).rejects.toThrow(`invalid primary_cluster_addr ${JSON.stringify(address)}`)
  }
  expect(a.status('dr')).toEqual({ mode: 'disabled' })
  await a.change('replication/dr/primary/enable', { primary_cluster_addr: 'proxy:8201' })
  expect(a.status('dr').primary_cluster_addr).toBe('https://proxy:8201')
  await a.change('replication/dr/primary/demote')
  const dr_operation_token = await operationToken(a)
  const promote = (primary_cluster_addr: string) => ({ dr_operation_token, primary_cluster_addr, force: true })
  const wrong = a.post('replication/dr/secondary/promote', promote('nowhere'))
  await expect(wrong).rejects.toThrow('invalid primary_cluster_addr "nowhere"')
  expect(a.status('dr').mode).toBe('secondary')
  await a.change('replication/dr/secondary/promote', promote('https://[::1]:8201/'))
  expect(a.status('dr').primary_cluster_addr).toBe('https://[::1]:8201')
})
