import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'

it('a forced promotion of a filtered secondary records that its data is incomplete', async () => {
  await using lab = await startLab('pr')
  await lab.A.client.write('sys/mounts/denied', { type: 'kv', options: { version: '1' } })
  await lab.A.client.write('denied/secret', { value: 'kept from C' })
  const { known_secondaries: known } = await lab.A.status('performance')
  const filter = `sys/replication/performance/primary/paths-filter/${String(known)}`
  await lab.A.client.write(filter, { mode: 'deny', paths: ['denied/'] })
  await lab.converged()
  await lab.C.takeRoot()
  await lab.C.client.write('sys/replication/performance/secondary/promote', { force: true })
  const answer = await lab.C.anonymous.call('GET', '/_understudy/v1/losses')
  expect(answer.losses).toEqual([
    expect.objectContaining({ reason: 'a paths filter (deny denied/) withheld data from this cluster' }),
  ])
})
