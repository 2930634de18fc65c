import { expect, test } from 'vitest'
import { startLab } from 'understudy-lab'

test('a lab in Vitest converges', async () => {
  await using lab = await startLab('dr')
  await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  expect(await lab.problems()).toEqual([])
}, 120_000)
