import { expect, onTestFinished, test } from 'vitest'
import { errorsOf } from '../../../../src/client/api-client.js'
import { LIMITS } from '../../../../src/base/limits.js'
import { type MemoryNode, startMemoryNodes } from '../../../support/memory-nodes.js'
import type { TestNodes } from '../../../support/nodes.js'
import { until } from '../../../support/until.js'
import { RawClient } from '../../../unit/http/raw-client.js'

/** Large request bodies at a standby. The active node decides about their size before they are read. */

const open = async (settings: Record<string, string> = {}) => {
  const nodes: TestNodes<MemoryNode> = await startMemoryNodes(['A', 'B'], { settings })
  await nodes.open()
  const [a, b] = nodes.all as [MemoryNode, MemoryNode]
  await nodes.clientOf(a).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  return { nodes, a, b }
}

/** Returns the response to a write whose announced body is never sent. */
const announce = async (node: MemoryNode, path: string, token: string) => {
  const client = await RawClient.connect(`127.0.0.1:${node.ports.api}`)
  onTestFinished(async () => client.destroy())
  const head = [`PUT /v1/${path} HTTP/1.1`, 'Host: x', `X-Vault-Token: ${token}`, 'Content-Length: 20000000', '', '']
  await client.send(head.join('\r\n'))
  return (await client.answer('PUT'))?.status
}

test('announced bodies with an invalid token use no budget of other requests, on all nodes', async () => {
  const { nodes, a, b } = await open()
  for (const node of [a, b]) {
    expect(await announce(node, 'kv/it', 'unknown')).toBe(403)
    const body = { value: 'b'.repeat(500_000) }
    expect((await nodes.clientOf(node).send('PUT', 'kv/it', { body })).status).toBe(204)
    expect((await nodes.clientOf(node).send('GET', 'kv/it')).json?.data).toEqual(body)
  }
})

test('a large body without a token is rejected with 413 on all nodes', async () => {
  const { nodes, a, b } = await open()
  await nodes.clientOf(a).call('POST', 'sys/auth/approle', { body: { type: 'approle' } })
  const body = { role_id: 'r'.repeat(LIMITS.openBodyBytesMax) }
  const answers = await Promise.all([a, b].map((node) => node.send('PUT', 'auth/approle/login', { body })))
  expect(answers.map((answer) => [answer.status, errorsOf(answer)])).toEqual([
    [413, ['http: request body too large']],
    [413, ['http: request body too large']],
  ])
})

test('a standby rejects a large body with 503 while there is no active node', async () => {
  const { nodes, a, b } = await open({ role_change_wait: '0', step_down_rest: '1h' })
  for (const node of [a, b]) {
    expect(await nodes.active()).toBe(node)
    expect((await nodes.clientOf(node).send('PUT', 'sys/step-down')).status).toBe(204)
  }
  await until(async () => (await a.health()) === 473 && (await b.health()) === 473)
  expect(await announce(a, 'kv/it', nodes.rootToken)).toBe(503)
})
