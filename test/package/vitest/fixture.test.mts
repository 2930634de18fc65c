import { expect } from 'vitest'
import { labTest } from 'understudy-lab/vitest'

const test = labTest('pr', { seed: 42 })

test('labTest replicates a secret to C', { timeout: 120_000 }, async ({ lab }) => {
  await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
  await lab.A.client.write('kv/greeting', { word: 'hello' })
  await lab.converged()
  expect((await lab.C.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
  lab.link('A', 'C').partition()
  await lab.A.crash()
})

test('labTest resets the lab before each test', { timeout: 120_000 }, async ({ lab }) => {
  expect(await lab.problems()).toEqual([])
  expect(await lab.A.client.read('sys/mounts')).not.toHaveProperty('kv/')
})

const own = labTest({ name: 'two', about: '', clusters: ['X', 'Y'], links: [] })

own('a topology may be an object', { timeout: 120_000 }, async ({ lab }) => {
  expect([lab.X.name, lab.Y.name]).toEqual(['X', 'Y'])
})
