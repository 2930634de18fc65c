import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { until } from '../../support/until.js'

it('a lab endpoint reports a failed action', async () => {
  await using lab = await startLab('single')
  const { A } = lab
  const post = async (path: string, body: object) => {
    const { status, json } = await A.anonymous.send('POST', `/_understudy/v1/${path}`, { body })
    return `${status} ${String(json?.errors ?? '')}`
  }
  const states = 'bootstrapping, merkle-diff, merkle-sync, reindex or apply'
  expect(await post('states/hold', { state: 'asleep' })).toBe(`400 state must be ${states}`)
  expect(await post('states/release', { state: 'asleep' })).toBe(`400 state must be ${states}`)
  expect(await post('states/hold', { state: null })).toBe(`400 state is required: ${states}`)
  expect(await post('states/release', { state: null, kind: null })).toBe('204 ')
  const fault = { tree: 'local', page: 1 }
  expect(await post('faults/corrupt', fault)).toBe('204 ')
  await A.client.call('PUT', 'sys/seal')
  expect(await post('faults/corrupt', fault)).toBe('503 Vault is sealed')
  const { status, json } = await A.anonymous.send('GET', '/_understudy/v1/losses')
  expect([status, json?.errors]).toEqual([503, ['Vault is sealed']])
  expect(await post('states/hold', { state: 'apply' })).toBe('204 ')
})

it('lab endpoints reject browser pages, and accept callers with the token', async () => {
  for (const [settings, right, statuses] of [
    [{}, {}, [204, 403, 403]],
    [{ lab_api_token: 'open sesame' }, { 'x-understudy-token': 'open sesame' }, [204, 204, 204]],
  ] as const) {
    await using lab = await startLab('single', { settings })
    const send = async (headers: Record<string, string>) =>
      (await lab.A.anonymous.send('POST', '/_understudy/v1/faults/disk', { body: { state: 'ok' }, headers })).status
    const origins = [{}, { origin: 'http://page.example' }, { origin: lab.A.address }]
    expect(await Promise.all(origins.map((origin) => send({ ...right, ...origin })))).toEqual(statuses)
  }
})

it('a clock rejects an invalid time', async () => {
  await using lab = await startLab('single')
  const skew = async (by: string) =>
    (await lab.A.anonymous.send('POST', '/_understudy/v1/clock', { body: { skew: by } })).status
  for (const by of ['9999999999999h', '-9999999999999h', '87601h']) expect(await skew(by), by).toBe(400)
  expect(await skew('87600h')).toBe(204)
  expect((await lab.A.anonymous.send('GET', '/v1/sys/health')).status).toBe(200)
})

it('a full, failing or slow disk rejects or delays writes, serves reads, and recovers', async () => {
  for (const storage of ['memory', 'disk'] as const) {
    await using lab = await startLab('single', { storage })
    const { A } = lab
    const disk = async (body: object) =>
      (await A.anonymous.send('POST', '/_understudy/v1/faults/disk', { body })).status
    const write = async (value: number) => (await A.client.send('PUT', 'cubbyhole/x', { body: { value } })).status
    const read = async () => ((await A.client.read('cubbyhole/x')).data as { value: number }).value
    expect(await write(1)).toBe(204)
    for (const [count, state] of (['full', 'fail'] as const).entries()) {
      expect(await disk({ state })).toBe(204)
      const { status, json } = await A.client.send('PUT', 'cubbyhole/x', { body: { value: 9 } })
      expect([status, String(json?.errors)]).toEqual([
        503,
        expect.stringContaining(state === 'full' ? 'no space left' : 'the storage device failed'),
      ])
      expect(await disk({ state: 'ok' })).toBe(204)
      await until(async () => (await write(count + 2)) === 204)
      expect(await read()).toBe(count + 2)
    }
    expect(await disk({ state: 'slow', delay: '1ms' })).toBe(204)
    expect((await A.anonymous.send('GET', '/_understudy/v1/faults')).json).toEqual({
      skew_ms: 0,
      disk: { state: 'slow', delay_ms: 1 },
    })
    expect(await write(7)).toBe(204)
    for (const wrong of [{ state: 'tired' }, {}, { state: 'slow', delay: 'long' }, { state: 'slow', delay: '2h' }])
      expect(await disk(wrong)).toBe(400)
  }
})
