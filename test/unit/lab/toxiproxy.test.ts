import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { LabDaemon } from '../../../src/lab/daemon/lab-daemon.js'
import { openRoutes } from '../../../src/lab/daemon/open-routes.js'
import { linkMetrics } from '../../../src/lab/daemon/toxics.js'
import { Proxies } from '../../../src/lab/daemon/toxiproxy-proxies.js'
import { ToxiproxyControl } from '../../../src/lab/daemon/toxiproxy-server.js'
import { randomSinglePorts } from '../../../src/lab/model/ports.js'
import { until } from '../../support/until.js'

/** A lab daemon with both proxies from A to B, in front of an echo server, called like a client does. */
const stops: (() => unknown)[] = []
let daemon: LabDaemon
let control = ''
let echo = ''
let ports: readonly number[] = []

beforeEach(async () => {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  echo = `127.0.0.1:${(server.address() as net.AddressInfo).port}`
  ports = await randomSinglePorts(2)
  const parts = { clock: systemClock, random: createSeededRandom(7) }
  const routes = ports.map((port) => ({ from: 'A', to: 'B', address: echo, port }))
  const around = { clusters: () => [], emit: () => undefined, clock: systemClock }
  daemon = new LabDaemon(await openRoutes(routes, parts), around)
  const toxiproxy = new ToxiproxyControl(new Proxies(daemon, parts))
  await toxiproxy.listenOn(0)
  control = `http://127.0.0.1:${toxiproxy.port}`
  stops.push(
    () => server.close(),
    () => daemon.close(),
    () => toxiproxy.listenOn(null),
  )
})

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
  const init = { method, headers: { 'user-agent': 'toxiproxy-test', ...headers } }
  const response = await fetch(control + path, body === undefined ? init : { ...init, body: JSON.stringify(body) })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>) }
}

const say = async (port: number, text: string): Promise<string> => {
  const socket = net.connect(port, '127.0.0.1')
  stops.push(() => socket.destroy())
  let heard = ''
  let isClosed = false
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.toString()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
  })
  socket.end(text)
  await until(() => isClosed)
  return heard
}

it('the metrics show the faults of each link, but no hidden fault', async () => {
  const metrics = async () => {
    const response = await fetch(`${control}/metrics`, { headers: { 'user-agent': 'Prometheus/2' } })
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4')
    return (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  }
  expect(await metrics()).toEqual(['understudy_link_faults_active{link="A-B"} 0'])
  const between = ['A', 'B'] as const
  const { id } = await daemon.set({ between, isOneWay: true, fault: { name: 'latency', ms: 5 } })
  await daemon.set({ between, isOneWay: false, fault: { name: 'hold' }, isHidden: true })
  expect(await metrics()).toEqual(['understudy_link_faults_active{link="A-B"} 1'])
  await send('POST', '/proxies', { name: 'my "own"', listen: '127.0.0.1:0', upstream: echo })
  expect(await metrics()).toContain('understudy_link_faults_active{link="my \\"own\\""} 0')
  await daemon.heal([id])
  expect(await metrics()).toContain('understudy_link_faults_active{link="A-B"} 0')
})

it('the toxiproxy API shows the proxies of a lab and accepts toxics', async () => {
  expect(await send('GET', '/version')).toMatchObject({ status: 200, body: { version: expect.stringMatching(/^2\./) } })
  const proxy = (name: string, index: number) => ({
    name,
    listen: `127.0.0.1:${ports[index]}`,
    upstream: echo,
    enabled: true,
    toxics: [],
  })
  expect(await send('GET', '/proxies')).toEqual({
    status: 200,
    body: { 'A-B-api': proxy('A-B-api', 0), 'A-B-cluster': proxy('A-B-cluster', 1) },
  })

  const limit = { type: 'limit_data', stream: 'downstream', attributes: { bytes: 3 } }
  const toxic = { name: 'limit_data_downstream', toxicity: 1, ...limit }
  expect(await send('POST', '/proxies/A-B-api/toxics', limit)).toEqual({ status: 200, body: toxic })
  expect(await say(ports[0] ?? 0, 'hello')).toBe('hel')
  expect(await say(ports[1] ?? 0, 'hello')).toBe('hello')
  expect((await send('POST', '/proxies/A-B-api/toxics', limit)).body).toEqual({
    error: 'toxic already exists',
    status: 409,
  })
  expect(daemon.active).toMatchObject([{ id: 1, fault: { name: 'limit_data', bytes: 3 }, at: { proxy: 'A-B-api' } }])

  const path = '/proxies/A-B-api/toxics/limit_data_downstream'
  expect(await send('PATCH', path, { attributes: { bytes: 4 } })).toMatchObject({
    status: 200,
    body: { attributes: { bytes: 4 } },
  })
  expect(await say(ports[0] ?? 0, 'hello')).toBe('hell')
  expect((await send('PATCH', path, { toxicity: 0 })).status).toBe(200)
  expect(await say(ports[0] ?? 0, 'hello')).toBe('hello')
  expect(await send('GET', path)).toMatchObject({ status: 200, body: { toxicity: 0, attributes: { bytes: 4 } } })
  expect(await send('DELETE', path)).toEqual({ status: 204, body: undefined })
  expect(await send('GET', '/proxies/A-B-api/toxics')).toEqual({ status: 200, body: [] })
  expect(daemon.active).toEqual([])
})

it('the toxiproxy API supports every toxic with its fields', async () => {
  const attributes = {
    latency: { latency: 80, jitter: 20 },
    bandwidth: { rate: 256 },
    slow_close: { delay: 100 },
    timeout: { timeout: 50 },
    reset_peer: { timeout: 70 },
    slicer: { average_size: 64, size_variation: 8, delay: 1500 },
    limit_data: { bytes: 1000 },
  }
  for (const [type, own] of Object.entries(attributes)) {
    const { status, body } = await send('POST', '/proxies/A-B-cluster/toxics', { type, attributes: own })
    const shown = { name: `${type}_downstream`, type, stream: 'downstream', toxicity: 1, attributes: own }
    expect([status, body]).toEqual([200, shown])
  }
  expect((await send('GET', '/proxies/A-B-cluster')).body?.toxics).toHaveLength(7)
  expect((await send('GET', '/proxies/A-B-api')).body?.toxics).toHaveLength(0)
  expect((await send('POST', '/reset')).status).toBe(204)
  expect(daemon.active).toEqual([])
})

it('the toxiproxy API disables and enables a proxy, and shows faults of a whole link', async () => {
  expect(await send('POST', '/proxies/A-B-api', { enabled: false })).toMatchObject({
    status: 200,
    body: { enabled: false },
  })
  expect(await say(ports[0] ?? 0, 'hello')).toBe('')
  expect(await say(ports[1] ?? 0, 'hello')).toBe('hello')
  expect((await send('PATCH', '/proxies/A-B-api', { enabled: true })).body?.enabled).toBe(true)
  expect(await say(ports[0] ?? 0, 'hello')).toBe('hello')

  await daemon.set({ between: ['A', 'B'], isOneWay: true, fault: { name: 'latency', ms: 5 } })
  expect((await send('GET', '/proxies/A-B-cluster/toxics')).body).toEqual([
    {
      name: 'fault_2_upstream',
      type: 'latency',
      stream: 'upstream',
      toxicity: 1,
      attributes: { latency: 5, jitter: 0 },
    },
  ])
  await daemon.set({ between: ['A', 'B'], isOneWay: false, fault: { name: 'partition' } })
  expect((await send('POST', '/reset')).status).toBe(204)
  expect(daemon.active.map(({ fault }) => fault.name)).toEqual(['partition'])
}, 60_000)

it('the toxiproxy API lets clients create own proxies, and protects those of the lab', async () => {
  const mine = { name: 'mine', listen: '127.0.0.1:0', upstream: echo }
  const made = await send('POST', '/proxies', mine)
  expect(made).toMatchObject({ status: 201, body: { name: 'mine', upstream: echo, enabled: true, toxics: [] } })
  const port = Number(String(made.body?.listen).split(':')[1])
  expect(await say(port, 'hello')).toBe('hello')
  await send('POST', '/proxies/mine/toxics', { type: 'limit_data', attributes: { bytes: 2 } })
  expect(await say(port, 'hello')).toBe('he')
  expect((await send('POST', '/proxies', mine)).body).toEqual({ error: 'proxy already exists', status: 409 })

  const populated = await send('POST', '/populate', [
    { name: 'A-B-api', listen: `localhost:${ports[0]}`, upstream: echo },
    { name: 'yours', listen: '', upstream: echo, enabled: false },
  ])
  expect(populated).toMatchObject({
    status: 201,
    body: { proxies: [{ name: 'A-B-api' }, { name: 'yours', enabled: false }] },
  })
  expect((await send('DELETE', '/proxies/mine')).status).toBe(204)
  expect(await say(port, 'hello')).toBe('')
  expect(daemon.active.filter(({ fault }) => fault.name === 'limit_data')).toEqual([])

  const refusals: readonly [string, string, unknown, number, string][] = [
    ['GET', '/proxies/none', undefined, 404, 'proxy not found'],
    ['GET', '/proxies/A-B-api/toxics/none', undefined, 404, 'toxic not found'],
    ['DELETE', '/proxies/A-B-api', undefined, 400, 'it cannot be deleted'],
    ['POST', '/proxies/A-B-api', { upstream: '127.0.0.1:1' }, 400, 'its addresses cannot be changed'],
    ['POST', '/proxies', { name: 'x' }, 400, 'missing required field: upstream'],
    ['POST', '/proxies', { name: 'x', upstream: echo, listen: '10.0.0.1:80' }, 400, 'listen must be 127.0.0.1'],
    ['POST', '/proxies/A-B-api/toxics', { type: 'noop' }, 400, 'invalid toxic type'],
    ['POST', '/proxies/A-B-api/toxics', { type: 'constructor' }, 400, 'invalid toxic type'],
    ['POST', '/proxies/A-B-api/toxics', { type: 'timeout', stream: 'sideways' }, 400, 'stream was invalid'],
    ['POST', '/proxies/A-B-api/toxics', { type: 'timeout', toxicity: 2 }, 400, 'toxicity'],
    [
      'POST',
      '/proxies/A-B-api/toxics',
      { type: 'timeout', attributes: { timeout: 'x' } },
      400,
      'timeout must be a number',
    ],
    ['POST', '/populate', { name: 'x' }, 400, 'a list of proxies'],
    ['PUT', '/proxies', {}, 404, 'not found'],
  ]
  for (const [method, path, body, status, text] of refusals) {
    const answer = await send(method, path, body)
    expect([answer.status, answer.body], `${method} ${path}`).toEqual([
      status,
      { error: expect.stringContaining(text), status },
    ])
  }
})

/** `fetch` sets the Host header itself. */
const statusWith = async (headers: http.OutgoingHttpHeaders): Promise<number | undefined> => {
  const request = http.request(`${control}/reset`, { method: 'POST', headers })
  request.end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  return response.statusCode
}

it('the toxiproxy API rejects a page in a browser under any host name', async () => {
  expect(await statusWith({})).toBe(204)
  for (const host of ['localhost', 'localhost:8474', '127.0.0.1:8474', '[::1]:8474'])
    expect(await statusWith({ host }), host).toBe(204)
  const pages = [
    { 'user-agent': 'Mozilla/5.0' },
    { origin: 'http://page.example' },
    { origin: 'null' },
    { host: 'page.example:8474' },
    { host: 'localhost.page.example' },
    { host: '127.0.0.1@page.example' },
  ]
  for (const headers of pages) expect(await statusWith(headers), JSON.stringify(headers)).toBe(403)
})

it('the toxiproxy API counts faults of links between nodes by node', () => {
  const proxy = (fromNode: string, toNode: string) => ({
    name: fromNode + toNode,
    from: 'A',
    to: 'A',
    fromNode,
    toNode,
  })
  const cut = { id: 1, between: ['A2', 'A1'], isOneWay: false, fault: { name: 'partition' } } as const
  const text = linkMetrics([proxy('A1', 'A2'), proxy('A2', 'A1'), proxy('A3', 'A1')], [cut])
  expect(text).toContain(
    'understudy_link_faults_active{link="A1-A2"} 1\nunderstudy_link_faults_active{link="A1-A3"} 0\n',
  )
})

it.each([
  ['GET', '//', undefined, 404],
  ['GET', '//evil.example/proxies', undefined, 404],
  ['GET', '/proxies/__proto__', undefined, 404],
  ['GET', '/constructor', undefined, 404],
  ['GET', '/proxies/%E0%A4%A', undefined, 404],
  ['POST', '/proxies', { name: 'x', upstream: ':80' }, 400],
  ['POST', '/proxies', { name: 'x', upstream: 'host:99999' }, 400],
  ['POST', '/proxies', { name: 'x', upstream: 'host' }, 400],
  ['POST', '/proxies', { name: 'a/b', upstream: 'host:80' }, 400],
  ['POST', '/proxies', { name: 'a\u001b[2J', upstream: 'host:80' }, 400],
  ['POST', '/proxies/A-B-api/toxics', { type: 'latency', attributes: { latency: 1e300 } }, 400],
  ['POST', '/proxies/A-B-api/toxics', { type: '__proto__' }, 400],
])('the toxiproxy API rejects %s %s with the body %j as a client error', async (method, path, body, expected) => {
  const { hostname, port } = new URL(control)
  const status = await new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, method, path }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
  expect(status).toBe(expected)
})

it.each(['', 'evil.example', '127.0.0.1.evil.example', '127.0.0.1:x', '[::1'])(
  'the toxiproxy API rejects the Host %j',
  async (host) => {
    const { hostname, port } = new URL(control)
    const socket = net.connect(Number(port), hostname)
    socket.end(`GET /proxies HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    const [head] = (await once(socket, 'data')) as [Buffer]
    expect(String(head)).toMatch(/^HTTP\/1\.1 40[03] /)
  },
)

it('a toxic accepts each number up to the limit of the fault in its own unit', async () => {
  const add = (type: string, attributes: Record<string, number>) =>
    send('POST', '/proxies/A-B-api/toxics', { type, name: type, attributes })
  expect((await add('limit_data', { bytes: 2 ** 40 })).status).toBe(200)
  expect((await add('slicer', { average_size: 1, size_variation: 0, delay: 2 ** 32 })).status).toBe(200)
  expect(await add('latency', { latency: 2 ** 31, jitter: 0 })).toMatchObject({
    status: 400,
    body: { error: 'bad request body: latency must be a number from 0 to 2147483647' },
  })
})
