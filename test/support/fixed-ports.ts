import net from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterAll } from 'vitest'

/** Held by the test file that uses ports 8200 to 8299. */
const LOCK_PORT = 8199
const AGAIN_MS = 100

const listen = (): Promise<net.Server | undefined> =>
  new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port: LOCK_PORT, host: '127.0.0.1' }, () => resolve(server))
  })

// A setup file: the tests of its file begin when no other file holds the fixed ports.
let lock = await listen()
while (!lock) {
  await setTimeout(AGAIN_MS)
  lock = await listen()
}
const held = lock
afterAll(() => new Promise((done) => void held.close(done)))
