import { getEventListeners } from 'node:events'
import net from 'node:net'
import { expect, test } from 'vitest'
import { systemNetwork } from '../../../src/base/network.js'

/** Returns a port without a listener: it was free a moment ago. */
const closedPort = async (): Promise<number> => {
  const server = net.createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as net.AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

test('failed dials leave no listener on their shared signal', async () => {
  const { signal } = new AbortController()
  const address = `127.0.0.1:${await closedPort()}`
  for (let n = 0; n < 50; n++) await expect(systemNetwork.dial(address, { timeoutMs: 1000, signal })).rejects.toThrow()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('a dial that is aborted rejects with the reason and leaves no listener', async () => {
  const controller = new AbortController()
  const dial = systemNetwork.dial(`127.0.0.1:${await closedPort()}`, { timeoutMs: 1000, signal: controller.signal })
  controller.abort(new Error('not wanted any more'))
  await expect(dial).rejects.toThrow('not wanted any more')
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
})
