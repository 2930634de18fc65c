import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { until } from '../../support/until.js'
import { wordOn } from '../../support/word-on.js'

it.each(['memory', 'disk'] as const)(
  'a lab with storage in %s is reset to its start and to snapshots',
  async (storage) => {
    await using lab = await startLab('pr-dr', { storage })
    const kv = { type: 'kv', options: { version: '1' } }
    await lab.A.client.write('sys/mounts/kv', kv)
    await lab.A.client.write('kv/a', { word: 'kept' })
    await lab.converged()
    const kept = await lab.snapshot()
    await lab.A.client.write('kv/a', { word: 'later' })
    lab.clock.advance('1h')
    lab.link('A', 'C').partition()
    await lab.A.crash()
    await lab.failover('A', 'B', { force: true })

    await lab.reset(kept)
    expect([lab.A.isRunning, lab.clock.skewMs]).toEqual([true, 0])
    expect(await wordOn(lab.A.client, 'kv/a')).toBe('kept')
    expect(await wordOn(lab.C.client, 'kv/a')).toBe('kept')
    await lab.A.client.write('kv/b', { word: 'after' })
    await until(async () => (await wordOn(lab.C.client, 'kv/b')) === 'after')
    await lab.healthy()

    await lab.reset()
    expect(await wordOn(lab.A.client, 'kv/a')).toBeUndefined()
    await lab.A.client.write('sys/mounts/kv', kv)
    await lab.A.client.write('kv/c', { word: 'again' })
    await lab.converged()
    await lab.A.crash()
    await lab.failover('A', 'B', { force: true })
    expect(await wordOn(lab.B.client, 'kv/c')).toBe('again')
  },
)

it('a reset lab with filters has the filters of its topology', async () => {
  await using lab = await startLab('filtered')
  expect((await lab.C.client.send('GET', 'US_data/data/customers')).status).toBe(200)
  expect((await lab.C.client.send('GET', 'EU_data/data/customers')).status).toBe(404)
  await lab.reset()
  expect((await lab.E.client.send('GET', 'US_data/data/customers')).status).toBe(404)
})

const statusOf = async (work: Promise<{ readonly status: number }>): Promise<number> => (await work).status

it('a snapshot load removes all later data', async () => {
  await using lab = await startLab('pr-dr')
  const { client } = lab.A
  const make = async () => ((await client.write('auth/token/create', {})).auth as { client_token: string }).client_token
  const early = await make()
  const revoked = await make()
  await lab.converged()
  const kept = await lab.snapshot()
  const late = await make()
  await client.write('auth/token/revoke', { token: revoked })
  await client.write('sys/policies/acl/late', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  await lab.A.anonymous.write('sys/generate-root/attempt', {})
  await lab.A.anonymous.call('POST', '/_understudy/v1/faults/disk', { body: { state: 'full' } })
  await lab.C.anonymous.call('POST', '/_understudy/v1/states/hold', {
    body: { kind: 'performance', state: 'merkle-sync' },
  })
  await lab.C.anonymous.call('POST', '/_understudy/v1/clock', { body: { skew: '60s' } })

  await lab.reset(kept)
  const look = (token: string) => statusOf(lab.A.anonymous.send('GET', 'auth/token/lookup-self', { token }))
  expect([await look(early), await look(revoked), await look(late)]).toEqual([200, 200, 403])
  expect(await statusOf(client.send('GET', 'sys/policies/acl/late'))).toBe(404)
  expect((await lab.A.anonymous.read('sys/generate-root/attempt')).started).toBe(false)
  expect((await lab.C.anonymous.call('GET', '/_understudy/v1/states')).states).toEqual([])
  expect((await lab.C.anonymous.call('GET', '/_understudy/v1/faults')).skew_ms).toBe(0)
  await client.write('sys/policies/acl/again', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  await until(async () => (await statusOf(lab.C.client.send('GET', 'sys/policies/acl/again'))) === 200)
  await lab.healthy()
})

it('a snapshot load restores sealed and stopped clusters', async () => {
  await using lab = await startLab('pr-dr')
  await lab.A.client.write('sys/policies/acl/early', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  await lab.converged()
  await lab.C.client.write('sys/seal', {})
  const b = await lab.B.stop()
  const kept = await lab.snapshot()
  await b.start()
  await lab.A.stop()

  await lab.reset(kept)
  expect([lab.A.isRunning, lab.B.isRunning]).toEqual([true, false])
  expect((await lab.C.anonymous.read('sys/seal-status')).sealed).toBe(true)
  expect(await statusOf(lab.A.client.send('GET', 'sys/policies/acl/early'))).toBe(200)
  await b.start()
  await lab.C.start()
  await lab.healthy()

  await lab.reset()
  expect(await statusOf(lab.A.client.send('GET', 'sys/policies/acl/early'))).toBe(404)
  await lab.healthy()
})

it('a snapshot load restores a chain of secondaries', async () => {
  await using lab = await startLab('four')
  await lab.A.client.write('sys/policies/acl/late', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  await lab.converged()
  await lab.reset()
  await lab.A.client.write('sys/policies/acl/again', { policy: 'path "kv/*" { capabilities = ["read"] }' })
  await lab.converged()
  await lab.D.client.send('GET', 'sys/health')
  await lab.C.crash()
  await lab.failover('C', 'D', { force: true })
  const seen = ['late', 'again'].map((name) => statusOf(lab.D.client.send('GET', `sys/policies/acl/${name}`)))
  expect(await Promise.all(seen)).toEqual([404, 200])
})
