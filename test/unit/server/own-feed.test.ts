import { afterEach, expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { silentLog } from '../../../src/base/log.js'
import { loadServerConfig } from '../../../src/server/config/server-config.js'
import { Server } from '../../../src/server/server.js'
import { openMemoryGenerations } from '../../../src/storage/engine/memory-generations.js'

/** The events of a server for its own page: how many may read them. */

const started: Server[] = []
afterEach(async () => {
  for (const server of started.splice(0)) await server.close(0)
})

const openFeed = async () => {
  const listener = { tcp: { address: '127.0.0.1:0', cluster_address: '127.0.0.1:0', tls_disable: true } }
  const { config } = loadServerConfig([], {
    VAULT_LOCAL_CONFIG: JSON.stringify({ listener, storage: { inmem: {} }, ui: true }),
  })
  if (!config) throw new Error('no configuration')
  const server = await Server.start({ config, log: silentLog, openStorage: async () => openMemoryGenerations() })
  started.push(server)
  return server.feed
}

test('whoever has been let in counts from then on, also before anything is read', async () => {
  const feed = await openFeed()
  const streams = Array.from({ length: LIMITS.ownFeedReadersMax }, () => feed.open()[Symbol.asyncIterator]())
  expect(() => feed.open()).toThrow('pages are open already')
  const [unread, read] = streams
  await unread?.return?.()
  const next = feed.open()[Symbol.asyncIterator]()
  expect(() => feed.open()).toThrow('pages are open already')
  expect(String((await read?.next())?.value)).toContain('retry:')
  await read?.return?.()
  await read?.return?.()
  feed.open()
  expect(() => feed.open()).toThrow('pages are open already')
  await next.return?.()
})

test('a stream that has ended makes room', async () => {
  const feed = await openFeed()
  const streams = Array.from({ length: LIMITS.ownFeedReadersMax }, () => feed.open()[Symbol.asyncIterator]())
  feed.close()
  for (const stream of streams) {
    while (!(await stream.next()).done);
  }
  expect(() => feed.open()).not.toThrow()
})
