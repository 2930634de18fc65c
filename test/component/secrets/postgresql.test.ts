import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { PostgresPlugin } from '../../../src/secrets/database/postgresql.js'

/** Connections to a server that accepts them and sends nothing. */

let peers: Socket[]
let silent: ReturnType<typeof createServer>
let plugin: PostgresPlugin

beforeEach(async () => {
  peers = []
  silent = createServer((peer) => void peers.push(peer.on('error', () => undefined))).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const settings = {
    url: `postgresql://u:p@127.0.0.1:${port}/db`,
    keepsNone: false,
    connectionSecondsMax: 0,
    hashesPasswords: false,
    onError: () => undefined,
  }
  plugin = new PostgresPlugin(settings, createSeededRandom('postgresql'))
})

afterEach(async () => {
  await plugin.close(true)
  for (const peer of peers) peer.destroy()
  silent.close()
})

test('a close that aborts ends a statement that waits for the server', async () => {
  const verified = plugin.verify()
  const outcome = expect(verified).rejects.toThrow(/terminated/)
  await expect.poll(() => peers.length).toBe(1)
  await plugin.close(true)
  await outcome
})

test('a plugin that never ran a statement closes without a connection', async () => {
  await plugin.close()
  expect(peers).toEqual([])
})
