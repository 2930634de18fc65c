import { afterEach, expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import type { Server } from '../../../src/server/server.js'
import { ANY_PORTS, localConfig } from '../../support/local-config.js'
import { startDevServer, startServer } from '../../support/memory-server.js'

/** The event stream of a server's own page: the maximum number of readers. */

const started: Server[] = []
afterEach(async () => {
  for (const server of started.splice(0)) await server.close(0)
})

const start = async () => {
  const server = await startServer(localConfig(ANY_PORTS, { ui: true }))
  started.push(server)
  return server
}

test('an admitted reader counts at once, even before it reads', async () => {
  const { feed } = await start()
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

test('the streams of a stopping server end, and free their slots', async () => {
  const { feed, stopping } = await start()
  const streams = Array.from({ length: LIMITS.ownFeedReadersMax }, () => feed.open()[Symbol.asyncIterator]())
  stopping.abort()
  for (const stream of streams) {
    while (!(await stream.next()).done);
  }
  expect(() => feed.open()).not.toThrow()
})

test('the request counts of a server leave out the requests of observers', async () => {
  await using server = await startDevServer()
  const { client } = server
  const counts = async () =>
    (await client.call('GET', '/_understudy/v1/info')).requests as { handled: number; refused: number }
  const stranger = client.with({ token: 'wrong' })
  const observer = stranger.with({ isObserver: true })
  const before = await counts()
  await observer.send('GET', 'sys/health')
  expect((await observer.send('GET', 'sys/mounts')).status).toBe(403)
  expect(await counts()).toEqual(before)
  await stranger.send('GET', 'sys/mounts')
  expect(await counts()).toEqual({ handled: before.handled + 1, refused: before.refused + 1 })
  for (const one of [stranger, observer]) one.close()
})
