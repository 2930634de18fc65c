import { expect, test } from 'vitest'
import { startLab } from '../../../src/index.js'

/** What becomes of the secondaries of a primary that changes, in virtual time. */

test('a performance secondary streams again after its primary was demoted and promoted again', async () => {
  await using lab = await startLab('pr-dr', { simulated: true })
  const { A, C } = lab
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  await A.client.write('sys/replication/dr/primary/demote')
  const dr_operation_token = await lab.operationToken('A')
  await A.anonymous.write('sys/replication/dr/secondary/promote', { dr_operation_token })
  await A.client.write('kv/later', { word: 'later' })
  await lab.clock.advance('10s')
  expect(await C.status('performance')).toMatchObject({ state: 'stream-wals', connection_state: 'ready' })
  expect((await C.client.read('kv/later')).data).toEqual({ word: 'later' })
})
