import { afterEach, expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import type { Server } from '../../../src/server/server.js'
import { ANY_PORTS, localConfig } from '../../support/local-config.js'
import { startServer } from '../../support/memory-server.js'

/** The event stream of a server's own page: the maximum number of readers. */

const started: Server[] = []
afterEach(async () => {
  for (const server of started.splice(0)) await server.close(0)
})

const openFeed = async () => {
  const server = await startServer(localConfig(ANY_PORTS, { ui: true }))
  started.push(server)
  return server.feed
}

test('an admitted reader counts at once, even before it reads', async () => {
  const feed = await openFeed()
  const streams = Array.from({ length: LIMITS.ownFeedReadersMax }, () => feed.open()[Symbol.asyncIterator]())
  expect(() => feed.open()).toThrow('open pages is reached')
  const [unread, read] = streams
  await unread?.return?.()
  const next = feed.open()[Symbol.asyncIterator]()
  expect(() => feed.open()).toThrow('open pages is reached')
  expect(String((await read?.next())?.value)).toContain('retry:')
  await read?.return?.()
  await read?.return?.()
  feed.open()
  expect(() => feed.open()).toThrow('open pages is reached')
  await next.return?.()
})

test('an ended stream frees its slot', async () => {
  const feed = await openFeed()
  const streams = Array.from({ length: LIMITS.ownFeedReadersMax }, () => feed.open()[Symbol.asyncIterator]())
  feed.close()
  for (const stream of streams) {
    while (!(await stream.next()).done);
  }
  expect(() => feed.open()).not.toThrow()
})
