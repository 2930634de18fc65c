import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** The HTTP layer of the program with a handler that returns a constant: the cost of the HTTP layer alone. */
const [dist = ''] = process.argv.slice(2)
const load = <T>(file: string): Promise<T> => import(pathToFileURL(path.join(dist, file)).href) as Promise<T>
const { createHttpServer } = await load<typeof import('../../../src/http/http-server.js')>('http/http-server.js')
const { systemClock } = await load<typeof import('../../../src/base/clock.js')>('base/clock.js')
const { createSystemRandom } = await load<typeof import('../../../src/base/random.js')>('base/random.js')
const { silentLog } = await load<typeof import('../../../src/base/log.js')>('base/log.js')

const answer = { status: 200, contentType: 'application/json', body: '{"data":{"ok":true}}', headers: {} }
const server = createHttpServer({
  handle: async () => answer,
  clock: systemClock,
  random: createSystemRandom(),
  log: silentLog,
})
const address = await server.listen('127.0.0.1:0')
process.on('message', () => process.send?.(Number(address.split(':').at(-1))))
process.on('disconnect', () => process.exit(0))
