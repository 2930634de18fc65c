import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { ApiClient } from '../../../src/client/api-client.js'
import { throughRestart } from '../../../src/lab/requests/request-errors.js'
import { waitFor } from '../../../src/lab/requests/wait.js'
import { RESTARTING_REFUSAL } from '../../../src/logical/errors.js'

/** Responds with each of these in turn, and with the last one from then on. */
const serve = async (...answers: readonly [status: number, body: object][]) => {
  let asked = 0
  const server = http.createServer((_, response) => {
    const [status, body] = answers[Math.min(asked++, answers.length - 1)] ?? [500, {}]
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = new ApiClient({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  onTestFinished(() => {
    client.close()
    server.close()
  })
  const ask = (timeoutMs = 60_000) =>
    throughRestart(
      (fact) => waitFor(systemClock, 'an answer', fact, timeoutMs),
      () => client.read('it'),
    )
  return { ask, asked: () => asked }
}

const RESTARTING: [number, object] = [503, { errors: [RESTARTING_REFUSAL] }]

it('a request to a restarting server is retried until it succeeds', async () => {
  const { ask, asked } = await serve(RESTARTING, RESTARTING, [200, { data: 'there' }])
  expect(await ask()).toMatchObject({ data: 'there' })
  expect(asked()).toBe(3)
})

it.each([
  ['while another node takes over', 'local node not active but active cluster node not found'],
  ['while it is given an image', 'an image is already being loaded'],
])('a request is retried %s', async (_, text) => {
  const passing: [number, object] = [503, { errors: [text] }]
  const { ask, asked } = await serve(passing, passing, [200, { data: 'there' }])
  expect(await ask()).toMatchObject({ data: 'there' })
  expect(asked()).toBe(3)
})

it('a rejected request is not retried', async () => {
  const { ask, asked } = await serve([503, { errors: ['Vault is sealed'] }])
  await expect(ask()).rejects.toThrow('Vault is sealed')
  expect(asked()).toBe(1)
})

it('the retries of a server that never restarts end', async () => {
  const { ask } = await serve(RESTARTING)
  await expect(ask(1_000)).rejects.toThrow('it is restarting after a replication change')
})
