import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'

/** Clusters with a high latency between them: latency does not count as silence. */

const KEEPALIVE = { keepalive_time: '500ms', keepalive_timeout: '500ms' }
const FAR = {
  name: 'far',
  about: 'C is far away',
  clusters: ['A', 'C'],
  links: [{ kind: 'performance', primary: 'A', secondary: 'C', latencyMs: 700 }],
} as const

it.each([
  ['real', {}],
  ['virtual', { simulated: true as const }],
])('a link with a round trip longer than keepalive connects and stays connected, in %s time', async (_, how) => {
  await using lab = await startLab(FAR, { ...how, settings: KEEPALIVE } as { settings: typeof KEEPALIVE })
  const { A, C } = lab
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  const { last_start: since } = await C.status('performance')
  for (let round = 0; round < 3; round++) {
    await A.client.write('kv/it', { round })
    await lab.converged()
  }
  expect(await C.status('performance')).toMatchObject({ connection_state: 'ready', last_start: since })
})
