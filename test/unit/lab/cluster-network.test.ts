import net from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Links } from '../../../src/lab/links/links.js'
import { until } from '../../support/until.js'

/** Sockets of a cluster in this process end like those of a separate process. */
const stops: (() => unknown)[] = []
let address = ''
let connected = 0

beforeEach(async () => {
  connected = 0
  const server = net.createServer((socket) => {
    connected++
    socket.on('error', () => undefined)
    socket.on('close', () => connected--)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `127.0.0.1:${(server.address() as net.AddressInfo).port}`
  stops.push(() => server.close())
})

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

const TIMES = { timeoutMs: 5000 }

it('a stopped process loses its connections, and its remains can neither dial nor listen while the next one runs', async () => {
  const cluster = new Links().networkOf('A')
  const first = cluster.begin()
  await first.dial(address, TIMES)
  await until(() => connected === 1)
  cluster.cut()
  await until(() => connected === 0)

  const second = cluster.begin()
  await expect(first.dial(address, TIMES)).rejects.toThrow('the server process has ended')
  await expect(first.listen('127.0.0.1:0', () => undefined)).rejects.toThrow('the server process has ended')
  const socket = await second.dial(address, TIMES)
  stops.push(() => socket.destroy())
  await until(() => connected === 1)
})
