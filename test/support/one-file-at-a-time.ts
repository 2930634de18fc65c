import net from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterAll, inject } from 'vitest'

const AGAIN_MS = 100

/** Listens on the port of the lock. Resolves to undefined if another test file holds it. */
const listen = (port: number): Promise<net.Server | undefined> =>
  new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1' }, () => resolve(server))
  })

// A setup file of vitest: the tests of a file begin after no other file holds the lock.
const port = inject('lock')
while (port !== undefined) {
  const lock = await listen(port)
  if (lock) {
    afterAll(() => new Promise((done) => void lock.close(done)))
    break
  }
  await setTimeout(AGAIN_MS)
}
