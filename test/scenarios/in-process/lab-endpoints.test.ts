import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'

it('a lab endpoint says when it could not do what it was asked', async () => {
  await using lab = await startLab('single')
  const { A } = lab
  const post = async (path: string, body: object) => {
    const { status, json } = await A.anonymous.send('POST', `/_understudy/v1/${path}`, { body })
    return `${status} ${String(json?.errors ?? '')}`
  }
  const states = 'there are bootstrapping, merkle-diff, merkle-sync, reindex, apply'
  expect(await post('states/hold', { state: 'asleep' })).toBe(`400 unknown state; ${states}`)
  expect(await post('states/release', { state: 'asleep' })).toBe(`400 unknown state; ${states}`)
  expect(await post('states/hold', { state: null })).toBe(`400 missing state; ${states}`)
  expect(await post('states/release', { state: null, kind: null })).toBe('204 ')
  const fault = { tree: 'local', page: 1 }
  expect(await post('faults/corrupt', fault)).toBe('204 ')
  await A.client.call('PUT', 'sys/seal')
  expect(await post('faults/corrupt', fault)).toBe('503 Vault is sealed')
  expect(await post('states/hold', { state: 'apply' })).toBe('204 ')
})
