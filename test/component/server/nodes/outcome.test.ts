import { expect, test } from 'vitest'
import { LogicalError } from '../../../../src/logical/errors.js'
import { openMemoryGenerations } from '../../../../src/storage/engine/memory-generations.js'
import { type DiskStep, watchSource } from '../../../../src/storage/engine/watched-source.js'
import { type MemoryNode, startMemoryNodes } from '../../../support/memory-nodes.js'
import { until } from '../../../support/until.js'

/** The response to a write that is in the shared log when its node loses the leadership. */

const LOGIN = 'auth/approle/login'

/** Starts a node with a SecretID that has this number of uses. A login writes the use and then the token. */
const open = async (uses = 1, tokenType = 'service') => {
  const nodes = await startMemoryNodes(['A'], { settings: { role_change_wait: '100ms' } })
  await nodes.open()
  const [node] = nodes.all as [MemoryNode]
  const client = nodes.clientOf(node)
  await client.call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  await client.call('POST', 'auth/approle/role/r', { body: { secret_id_num_uses: uses, token_type: tokenType } })
  const { data: role } = (await client.read('auth/approle/role/r/role-id')) as { data: { role_id: string } }
  const made = (await client.call('POST', 'auth/approle/role/r/secret-id')) as { data: { secret_id: string } }
  return { nodes, node, client, body: { role_id: role.role_id, secret_id: made.data.secret_id } }
}

test('the outcome of a login is unknown if the leadership is lost between its two log entries', async () => {
  const { nodes, node, body } = await open()
  node.endLeadershipAfterNextAppend()
  const answer = await node.send('POST', LOGIN, { body })
  expect([answer.status, answer.json?.errors]).toEqual([503, [expect.stringContaining('outcome unknown')]])
  await nodes.active()
  expect((await node.send('POST', LOGIN, { body })).status).toBe(400)
})

// A batch token is not stored, so only the use is written.
test.each(['service', 'batch'])(
  'the outcome of a login for a %s token is unknown if the node is sealed while the entry is being appended',
  async (type) => {
    const { nodes, node, client, body } = await open(2, type)
    // The first login creates an entity.
    expect((await node.send('POST', LOGIN, { body })).status).toBe(200)
    const before = node.logIndex
    node.shared?.link.loseAnswers()
    const login = node.send('POST', LOGIN, { body })
    await until(() => node.logIndex > before)
    const sealing = client.send('PUT', 'sys/seal')
    await until(async () => (await node.health()) === 503)
    node.shared?.link.heal()
    const answer = await login
    expect([answer.status, answer.json?.errors]).toEqual([503, [expect.stringContaining('outcome unknown')]])
    await sealing
    await nodes.unseal(node)
    await nodes.active()
    expect((await node.send('POST', LOGIN, { body })).status).toBe(400)
  },
)

test('the outcome of a data replacement is unknown if the log has the new data and the disk of the node is full', async () => {
  let isFull = false
  const watch = {
    beforeRead: () => undefined,
    beforeStep: (step: DiskStep) => {
      if (isFull && step === 'move pointer') throw new LogicalError('unavailable', 'no space left')
    },
  }
  const openStorage = () => watchSource(openMemoryGenerations(), watch)
  const nodes = await startMemoryNodes(['A'], { openStorage })
  await nodes.open()
  const [node] = nodes.all as [MemoryNode]
  isFull = true
  await expect(node.moveData()).rejects.toThrow('outcome unknown')
  isFull = false
  await nodes.active()
  expect(await node.health()).toBe(200)
})

test('a write that failed before its log entry is reported as failed, not as unknown', async () => {
  const { nodes, node, client, body } = await open()
  await client.call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  node.endLeadership()
  const answer = await client.send('PUT', 'kv/it', { body: { value: 1 } })
  expect(answer.status).toBe(503)
  expect(String(answer.json?.errors)).not.toContain('outcome unknown')
  await nodes.active()
  expect((await client.send('GET', 'kv/it')).status).toBe(404)
  expect((await node.send('POST', LOGIN, { body })).status).toBe(200)
})
