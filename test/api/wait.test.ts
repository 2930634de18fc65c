import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { runProgram } from '../support/program.js'
import { startServerProcess } from '../support/server-process.js'
import { initialize } from '../../src/lab/requests/replication.js'

const server = await startServerProcess()
afterAll(() => server[Symbol.asyncDispose]())

const wait = (...args: string[]) => runProgram(['wait', '--addr', server.address, '--timeout', '2s', ...args])

it('wait continues until the condition holds, and reports what is still missing', async () => {
  expect((await wait('--for', 'answering')).status).toBe(0)
  const early = await wait('--for', 'unsealed')
  expect([early.status, early.stderr]).toEqual([4, expect.stringContaining('it is not initialized')])

  const { rootToken } = await initialize(server.client, 1, 1)
  for (const state of ['unsealed', 'active', 'replicated']) expect((await wait('--for', state)).status, state).toBe(0)

  const primary = server.client.with({ token: rootToken })
  await primary.write('sys/replication/dr/primary/enable')
  expect((await runProgram(['wait', '--addr', server.address, '--for', 'active'])).status).toBe(0)
  await primary.write('sys/replication/dr/primary/secondary-token', { id: 'away' })
  const alone = await wait('--for', 'replicated')
  expect([alone.status, alone.stderr]).toEqual([
    4,
    expect.stringContaining(
      'dr: secondaries not connected: away (if no cluster uses an ID: vault write sys/replication/dr/primary/revoke-secondary id=away)',
    ),
  ])
})

it('wait --json prints one object when the state is reached, and nothing on a timeout', async () => {
  const done = await wait('--for', 'answering', '--json')
  const messages = [`${server.address} is answering`]
  expect(JSON.parse(done.stdout)).toEqual({
    addr: server.address,
    state: 'answering',
    messages,
    tookMs: expect.any(Number),
  })
  expect(done.stderr).toContain(messages[0])
  const late = await runProgram(['wait', '--addr', 'http://127.0.0.1:1', '--timeout', '100ms', '--json'])
  expect([late.status, late.stdout]).toEqual([4, ''])
})

it('wait rejects an unknown state and an invalid duration', async () => {
  expect((await wait('--for', 'ever')).status).toBe(1)
  expect((await runProgram(['wait', '--addr', server.address, '--timeout', 'soon'])).status).toBe(1)
  expect(await runProgram(['wait', '--addr', '127.0.0.1:8200', '--timeout', '1m'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('is not an address such as'),
  })
})

it('wait ends at once if waiting cannot help', async () => {
  const web = createServer((_, response) => response.end('<html></html>'))
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
  const { port } = web.address() as AddressInfo
  for (const [address, why] of [
    ['http://no-such-host.invalid:8200', 'unknown host'],
    [`http://127.0.0.1:${port}`, 'does not serve the Vault HTTP API'],
    ['http://127.0.0.1:99999', 'is not an address such as'],
  ] as const) {
    const answer = await runProgram(['wait', '--addr', address, '--for', 'answering', '--timeout', '10m'])
    expect([answer.status, answer.stderr], address).toEqual([1, expect.stringContaining(why)])
  }
  web.close()
  expect((await wait('--for', 'healthy')).stderr).toContain('"healthy" applies to a whole lab')
})
