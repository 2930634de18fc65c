import { expect, it } from 'vitest'
import { LabError, startLab } from '../../../src/index.js'

const textOf = (read: () => unknown): string => {
  try {
    return `no error, but ${String(read())}`
  } catch (error) {
    return error instanceof LabError ? `${error.code}: ${error.message}` : String(error)
  }
}

it.each([{ heartbeat_interval: 'soon' }, { ship_batch_bytes: -1 }, { reported_version: '' }, { license: 'foo' }])(
  'a simulated lab rejects the invalid setting %j with a LabError',
  async (settings) => {
    const start = startLab('single', { simulated: true, settings })
    await expect(start).rejects.toSatisfy((error) => error instanceof LabError && error.code === 'usage')
  },
)

it('a cluster of a simulated lab has no address, and a missing cluster is an error', async () => {
  await using lab = await startLab('dr', { simulated: true })
  const { A, D } = { A: lab.A as object as { address: string }, D: () => (lab as object as { D: unknown }).D }
  const noAddress = 'usage: a simulated lab does not support "address": it has no address; use client or anonymous'
  expect(textOf(() => A.address)).toBe(noAddress)
  expect(textOf(() => (lab.A.activeNode as object as { address: string }).address)).toBe(noAddress)
  expect(textOf(D)).toBe('usage: the topology dr has no cluster D; it has A, B')
  expect(Object.keys(lab)).not.toContain('D')
  expect((await lab.A.activeNode.status()).state).toBe('active')
})
