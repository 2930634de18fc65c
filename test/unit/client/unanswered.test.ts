import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { ApiClient, ApiUnreachable } from '../../../src/client/api-client.js'
import { systemClock } from '../../../src/base/clock.js'
import { waitFor } from '../../../src/lab/requests/wait.js'

/** Servers that accept a connection and do not respond, as a suspended server does. No caller may wait forever. */

const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) server.close()
})

const listen = async (onConnection: (socket: Socket) => void): Promise<string> => {
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const failureOf = (address: string): Promise<unknown> => {
  const client = new ApiClient({ address, timeoutMs: 200, skipVerify: true })
  return client
    .send('GET', 'sys/health')
    .catch((error: unknown) => error)
    .finally(() => client.close())
}

it.each(['http', 'https'])('a request without a response ends with a timeout (%s)', async (scheme) => {
  const failure = await failureOf(`${scheme}://${await listen(() => undefined)}`)
  expect(failure).toBeInstanceOf(ApiUnreachable)
  expect(String(failure)).toContain('no response within 200 ms')
})

it('a request with an endless response, byte by byte, ends with a timeout', async () => {
  const address = await listen((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
    const timer = systemClock.setRepeating(20, () => socket.write(' '))
    socket.on('close', () => timer.cancel())
  })
  expect(String(await failureOf(`http://${address}`))).toContain('no response within 200 ms')
})

it('a wait for a condition of an unresponsive server ends with its timeout', async () => {
  const client = new ApiClient({ address: `http://${await listen(() => undefined)}` })
  const fact = async () => String((await client.send('GET', 'sys/health')).status)
  const waiting = waitFor(systemClock, 'it to be active', fact, 200)
  await expect(waiting).rejects.toMatchObject({
    code: 'timeout',
    message: 'timed out after 200 ms waiting for it to be active: no response',
  })
  client.close()
})

it('the timeout of a wait reports the last known state', async () => {
  let turns = 0
  const fact = () => (turns++ === 0 ? Promise.resolve('it is sealed') : new Promise<undefined>(() => undefined))
  await expect(waitFor(systemClock, 'it to be active', fact, 50)).rejects.toMatchObject({
    code: 'timeout',
    message: 'timed out after 50 ms waiting for it to be active: it is sealed; no response since then',
  })
})
