import { describe, expect, test } from 'vitest'
import type { LicenseKind } from '../../../src/core/status/cluster-status.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { createSeal, initWith, type SealFixtureOptions } from '../../support/seal-fixture.js'

const open = async (status: NonNullable<SealFixtureOptions['status']> = {}) => {
  const fixture = await createSeal({ status })
  const { keys } = await initWith(fixture, { secret_shares: 1, secret_threshold: 1 })
  await fixture.call('update', 'unseal', { key: keys[0] ?? '' })
  const health = (data: JsonObject = {}) => fixture.call('read', 'health', data)
  return { ...fixture, health }
}
const DR: NonNullable<SealFixtureOptions['status']> = { replicationModes: { dr: 'secondary', performance: 'disabled' } }

describe('sys/health', () => {
  test('the health of an active server is 200 with all fields', async () => {
    const { health } = await open({ lastWal: 7 })
    const { status, body } = await health()
    expect(status).toBe(200)
    expect(body).toMatchObject({
      initialized: true,
      sealed: false,
      standby: false,
      performance_standby: false,
      replication_performance_mode: 'disabled',
      replication_dr_mode: 'disabled',
      enterprise: true,
      last_wal: 7,
      clock_skew_ms: 0,
    })
  })

  test('the health of a sealed server is 503 without cluster name and modes', async () => {
    const fixture = await createSeal()
    await initWith(fixture, { secret_shares: 1, secret_threshold: 1 })
    const { status, body } = await fixture.call('read', 'health')
    expect(status).toBe(503)
    expect(body).toMatchObject({ sealed: true, standby: true, replication_dr_mode: 'unknown' })
    expect(body).not.toHaveProperty('cluster_id')
    expect(body).not.toHaveProperty('last_wal')
  })

  test.each<[JsonObject, number]>([
    [{}, 472],
    [{ drsecondarycode: '200' }, 200],
    [{ drsecondarycode: '299', standbycode: '298' }, 299],
    [{ standbyok: '', perfstandbyok: 'true' }, 472],
  ])('a DR secondary asked with %j is %i', async (query, status) => {
    expect((await (await open(DR)).health(query)).status).toBe(status)
  })

  test('during a role change, health has the code of the mode: a single node is never a standby', async () => {
    const { health } = await open({ isRestarting: true })
    expect(await health()).toMatchObject({ status: 200, body: { standby: false } })
    expect((await health({ standbycode: '299', standbyok: 'false' })).status).toBe(200)
    expect((await (await open({ ...DR, isRestarting: true })).health({ standbycode: '299' })).status).toBe(472)
  })

  test.each<[JsonObject, number]>([
    [{}, 429],
    [{ standbyok: '' }, 200],
    [{ standbyok: 'false' }, 429],
    [{ standbyok: 'true', activecode: '299' }, 299],
    [{ standbycode: '298', activecode: '299', performancestandbycode: '297' }, 298],
    [{ perfstandbyok: 'true' }, 429],
  ])('a standby asked with %j is %i', async (query, status) => {
    const { health } = await open({ isStandby: true, lastWal: 7 })
    const answer = await health(query)
    expect(answer).toMatchObject({ status, body: { initialized: true, sealed: false, standby: true } })
    expect(answer.body).toMatchObject({ cluster_id: expect.any(String), performance_standby: false })
    expect(answer.body).not.toHaveProperty('last_wal')
  })

  test.each<[JsonObject, number]>([
    [{}, 473],
    [{ perfstandbyok: '' }, 200],
    [{ perfstandbyok: 'false' }, 473],
    [{ perfstandbyok: 'true', activecode: '299' }, 299],
    [{ standbycode: '298', activecode: '299', performancestandbycode: '297' }, 297],
    [{ standbyok: 'true' }, 473],
  ])('a performance standby asked with %j is %i', async (query, status) => {
    const { health } = await open({ isStandby: true, isPerformanceStandby: true, lastWal: 7 })
    const answer = await health(query)
    expect(answer).toMatchObject({ status, body: { sealed: false, standby: true, performance_standby: true } })
    expect(answer.body).not.toHaveProperty('last_wal')
  })

  test('the health of a performance standby on a DR secondary is that of the DR secondary', async () => {
    expect((await (await open({ ...DR, isStandby: true, isPerformanceStandby: true })).health()).status).toBe(472)
  })

  test.each(['dr', 'performance'] as const)('the health during a first copy of kind %s is 503', async (kind) => {
    const replicationModes = { dr: 'disabled', performance: 'disabled', [kind]: 'bootstrapping' } as const
    const { health } = await open({ replicationModes })
    expect(await health()).toMatchObject({ status: 503, body: { sealed: false, standby: true } })
    expect((await health({ standbycode: '299', sealedcode: '298' })).status).toBe(298)
  })

  test.each([{ standbyok: 'perhaps' }, { activecode: 'abc' }, { sealedcode: '' }, { uninitcode: '12' }])(
    'the health parameter %j is a 400 with an empty list',
    async (query) => {
      expect(await (await open()).health(query)).toEqual({ code: 'invalid-request', message: '' })
    },
  )

  test('health codes of other states have no effect', async () => {
    const { health } = await open()
    expect((await health({ standbycode: '418', sealedcode: '419', drsecondarycode: '421' })).status).toBe(200)
    expect((await health({ activecode: '299' })).status).toBe(299)
  })

  test('other verbs of sys/health are a 405 with an empty list', async () => {
    const { call } = await open()
    expect(await call('update', 'health')).toEqual({ code: 'unsupported-operation', message: '' })
    expect(await call('list', 'health/')).toEqual({ code: 'unsupported-operation', message: '' })
    expect(await call('update', 'leader')).toEqual({ code: 'unsupported-operation', message: '' })
    expect(await call('read', 'seal')).toEqual({ code: 'unsupported-operation', message: '' })
  })
})

test('sys/leader reports ha_enabled false if storage or settings exclude it', async () => {
  const { call } = await open({ isHaEnabled: false })
  expect((await call('read', 'leader')).body).toMatchObject({ ha_enabled: false })
})

test('sys/leader returns both addresses, and a sealed server returns the documented text', async () => {
  const { call } = await open()
  expect((await call('read', 'leader')).body).toMatchObject({
    ha_enabled: true,
    is_self: true,
    leader_address: 'http://127.0.0.1:8200',
    leader_cluster_address: 'https://127.0.0.1:8201',
    performance_standby: false,
    performance_standby_last_remote_wal: 0,
  })
  await call('update', 'seal')
  expect(await call('read', 'leader')).toEqual({ code: 'sealed', message: 'Vault is sealed' })
})

const OTHER = { apiAddress: 'http://10.0.0.2:8200', clusterAddress: 'https://10.0.0.2:8201' }

test('sys/leader of a standby names the active node, or none', async () => {
  const known = await open({ isStandby: true, activeNode: OTHER, activeSinceMs: 1, storageType: 'raft', lastWal: 7 })
  const { body } = await known.call('read', 'leader')
  expect(body).toEqual({
    ha_enabled: true,
    is_self: false,
    leader_address: OTHER.apiAddress,
    leader_cluster_address: OTHER.clusterAddress,
    performance_standby: false,
    performance_standby_last_remote_wal: 0,
    raft_committed_index: 7,
    raft_applied_index: 7,
  })
  const copy = await open({ isStandby: true, isPerformanceStandby: true, activeNode: OTHER, lastWal: 7 })
  expect((await copy.call('read', 'leader')).body).toMatchObject({
    is_self: false,
    performance_standby: true,
    performance_standby_last_remote_wal: 7,
  })
  const unknown = await (await open({ isStandby: true, activeNode: undefined })).call('read', 'leader')
  expect(unknown.body).toMatchObject({ is_self: false })
  expect(unknown.body).not.toHaveProperty('leader_address')
  expect(unknown.body).not.toHaveProperty('leader_cluster_address')
})

test('sys/ha-status lists all nodes with the last heartbeat of each standby', async () => {
  const node = { ...OTHER, hostname: 'two', version: '1.20.4+ent' }
  const { call } = await open({
    nodes: async () => [
      { ...node, isActive: true, lastEchoMs: undefined },
      { ...node, hostname: 'three', isActive: false, lastEchoMs: 1_700_000_000_000 },
    ],
  })
  const { body } = await call('read', 'ha-status')
  expect(body?.nodes).toMatchObject([
    { hostname: 'two', api_address: OTHER.apiAddress, active_node: true, last_echo: null, version: '1.20.4+ent' },
    { hostname: 'three', active_node: false, last_echo: '2023-11-14T22:13:20.000Z' },
  ])
})

test('the license status lists its features', async () => {
  const licenseOf = async (license: LicenseKind) => {
    const { body } = await (await open({ license })).call('read', 'license/status')
    return body?.autoloaded
  }
  expect(await licenseOf('enterprise')).toMatchObject({
    features: ['DR Replication', 'Namespaces', 'Performance Replication', 'Performance Standby'],
    performance_standby_count: 9999,
  })
  expect(await licenseOf('plus')).toMatchObject({
    features: ['Namespaces', 'Performance Replication'],
    performance_standby_count: 0,
  })
  expect(await licenseOf('none')).toMatchObject({ features: [] })
})

test('sys/key-status shows a rotation as a new term', async () => {
  const { call } = await open()
  expect((await call('read', 'key-status')).body).toMatchObject({ term: 1, install_time: '2023-11-14T22:13:20.000Z' })
  expect((await call('update', 'rotate')).status).toBe(204)
  expect((await call('read', 'key-status')).body).toMatchObject({ term: 2 })
})
