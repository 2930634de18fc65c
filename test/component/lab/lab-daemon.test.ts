import { setMaxListeners } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { callHttp } from '../../../src/base/http-call.js'
import { createSeededRandom } from '../../../src/base/random.js'
import type { EventDraft, LabEvent } from '../../../src/lab/events/event.js'
import { LabDaemon } from '../../../src/lab/daemon/lab-daemon.js'
import { LabDaemonClient } from '../../../src/lab/daemon/lab-daemon-client.js'
import { runLabDaemon } from '../../../src/lab/daemon/run-lab-daemon.js'
import { randomSinglePorts } from '../../../src/lab/model/ports.js'
import { until } from '../../support/until.js'

/** A lab daemon in this process with one link and one cluster, whose server is part of the test. */
const stops: (() => unknown)[] = []
let directory = ''

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-daemon-'))
  stops.push(() => rmSync(directory, { recursive: true, force: true }))
})

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

const socketFile = () => path.join(directory, 'daemon.sock')

const startLabDaemon = async (apiAddress = 'http://127.0.0.1:9') => {
  const [port = 0] = await randomSinglePorts(1)
  const route = { from: 'A', to: 'B', address: '127.0.0.1:9', port }
  const clusters = [{ name: 'A', apiAddress }]
  const config = { lab: 'one', directory, socket: socketFile(), routes: [route], clusters, toxiproxyPort: null }
  const daemon = await runLabDaemon(config, { clock: systemClock, random: createSeededRandom(7) })
  stops.push(() => daemon.close())
  return { daemon, client: new LabDaemonClient(socketFile()) }
}

const cut = { between: ['A', 'B'], isOneWay: false, fault: { name: 'partition' } } as const

it('the lab daemon records each fault that is set, healed or expired, and notifies every follower', async () => {
  const { client } = await startLabDaemon()
  const seen: [LabEvent[], LabEvent[]] = [[], []]
  const stop = new AbortController()
  const following = seen.map((events) => client.follow(0, (event) => events.push(event), stop.signal))
  await client.set(cut)
  await client.heal(1)
  await client.set({ ...cut, forMs: 1 })
  const kinds = (events: readonly LabEvent[]) => events.map(({ kind, details }) => `${kind} ${details.id ?? ''}`.trim())
  const expected = ['daemon-started', 'fault-set 1', 'fault-healed 1', 'fault-set 2', 'fault-expired 2']
  await until(() => seen.every((events) => events.length === expected.length))
  for (const events of seen) expect(kinds(events)).toEqual(expected)
  expect(kinds(await client.events(3))).toEqual(expected.slice(3))
  stop.abort()
  await Promise.all(following)
})

it('the lab daemon accepts events of commands and rejects invalid events', async () => {
  const { client } = await startLabDaemon()
  expect(await client.append({ cluster: 'A', kind: 'command', details: { verb: 'crash' } })).toMatchObject({
    id: 2,
    lab: 'one',
    cluster: 'A',
  })
  await expect(client.append({ kind: 'party' as 'note', details: {} })).rejects.toThrow('not an event')
  await expect(client.append({ kind: 'note', details: { text: 'x'.repeat(20_000) } })).rejects.toThrow(
    'maximum is 16384',
  )
  await new LabDaemonClient(`${socketFile()}.none`).emit({ kind: 'note', details: {} })
})

it('a lab daemon on a port accepts local requests, and rejects those for another host', async () => {
  const [port = 0, proxy = 0] = await randomSinglePorts(2)
  const route = { from: 'A', to: 'B', address: '127.0.0.1:9', port: proxy }
  const config = { lab: 'one', directory, socket: port, routes: [route], clusters: [], toxiproxyPort: null }
  const daemon = await runLabDaemon(config, { clock: systemClock, random: createSeededRandom(7) })
  stops.push(() => daemon.close())
  const client = new LabDaemonClient(`http://127.0.0.1:${port}`)
  expect((await client.set(cut)).id).toBe(1)
  expect((await client.heal()).length).toBe(1)
  const call = { method: 'GET', url: `http://127.0.0.1:${port}/faults`, timeoutMs: 5000 }
  const { status } = await callHttp({ ...call, headers: { host: 'links.example' } })
  expect(status).toBe(403)
  await daemon.close()
  await expect(client.list()).rejects.toThrow(
    'the lab daemon does not respond, so every link is down; start its container',
  )
})

it('the lab daemon cuts off a reader that does not read, and buffers little for it', async () => {
  const { client } = await startLabDaemon()
  const reader = net.connect(socketFile())
  stops.push(() => reader.destroy())
  let isClosed = false
  reader.on('close', () => {
    isClosed = true
  })
  reader.write('GET /events?after=0&follow=1 HTTP/1.1\r\nHost: daemon\r\n\r\n')
  await new Promise((resolve) => reader.once('data', resolve))
  reader.pause()
  const text = 'x'.repeat(15_000)
  for (let count = 0; count < 200; count++) await client.append({ kind: 'note', details: { text } })
  reader.resume()
  await until(() => isClosed)
  expect((await client.events()).length).toBeGreaterThan(0)
})

it('the lab daemon accepts a limited number of followers', async () => {
  const { client } = await startLabDaemon()
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const following: Promise<void>[] = []
  let answered = 0
  for (let count = 0; count < 32; count++) following.push(client.follow(0, () => answered++, stop.signal))
  await until(() => answered === 32)
  await expect(client.follow(0, () => undefined, stop.signal)).rejects.toThrow('does not stream its events')
  stop.abort()
  await Promise.all(following)
})

it('the lab daemon reports a cluster that hangs, answers again, changes its seal or stops', async () => {
  let health: Record<string, unknown> = { initialized: true, sealed: true }
  let isSilent = false
  const waiting: http.ServerResponse[] = []
  const server = http.createServer((request, response) => {
    if (isSilent) waiting.push(response)
    else response.end(JSON.stringify(request.url === '/v1/sys/health' ? health : STATUS))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => server.close())
  const { port } = server.address() as net.AddressInfo
  const { client } = await startLabDaemon(`http://127.0.0.1:${port}`)
  const changes = async () =>
    (await client.events())
      .filter(({ cluster }) => cluster === 'A')
      .map(({ kind, details }) => `${kind} ${details.from} ${details.to}`)
  let requestCount = 0
  server.on('request', () => requestCount++)
  await until(() => requestCount > 0)
  isSilent = true
  await until(async () => (await changes()).length === 1)
  health = { initialized: true, sealed: false }
  isSilent = false
  for (const response of waiting.splice(0)) response.end(JSON.stringify(health))
  await until(async () => (await changes()).length === 3)
  server.closeAllConnections()
  server.close()
  await until(async () => (await changes()).length === 4)
  expect(await changes()).toEqual([
    'process running silent',
    'process silent running',
    'seal sealed unsealed',
    'process running stopped',
  ])
})

it('the lab daemon reports the roles of a cluster that was promoted before its first check', async () => {
  const data = { dr: { mode: 'primary' }, performance: { mode: 'disabled' } }
  const server = http.createServer(({ url }, response) => {
    response.end(JSON.stringify(url === '/v1/sys/health' ? { initialized: true, sealed: false } : { data }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => server.close())
  const { client } = await startLabDaemon(`http://127.0.0.1:${(server.address() as net.AddressInfo).port}`)
  const found = async () => (await client.events()).filter(({ cluster }) => cluster === 'A')
  await until(async () => (await found()).length > 0)
  expect((await found()).map(({ kind, details }) => [kind, details])).toEqual([
    ['role', { replication: 'dr', from: 'unknown', to: 'primary' }],
  ])
})

it('a closed lab daemon sends no more requests, even with one in flight', async () => {
  const sockets: net.Socket[] = []
  const server = net.createServer((socket) => sockets.push(socket.resume()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as net.AddressInfo
  const { daemon } = await startLabDaemon(`http://127.0.0.1:${port}`)
  await until(() => sockets.length === 1)
  await daemon.close()
  // Any further request would have arrived before this connection.
  const last = net.connect(port, '127.0.0.1')
  stops.push(() => last.destroy())
  await until(() => sockets.some(({ remotePort }) => remotePort !== undefined && remotePort === last.localPort))
  expect(sockets).toHaveLength(2)
})

const STATUS = { data: { dr: { mode: 'disabled' }, performance: { mode: 'disabled' } } }

it('the lab daemon gives no number to a rejected fault, and names the unknown cluster', async () => {
  const { client } = await startLabDaemon()
  await expect(client.set({ ...cut, between: ['A', 'Q'] })).rejects.toThrow('there is no cluster "Q"; the lab has A')
  await expect(client.set({ cluster: 'A', fault: { name: 'skew', ms: 1 } })).rejects.toThrow(
    'cluster A does not respond',
  )
  expect(await client.set(cut)).toMatchObject({ id: 1 })
})

it('the lab daemon does not report a hidden fault, and heals it like any other', async () => {
  const { client } = await startLabDaemon()
  await client.set({ ...cut, isHidden: true })
  expect(await client.list()).toMatchObject([{ id: 1, isHidden: true }])
  expect((await client.events()).map(({ kind }) => kind)).not.toContain('fault-set')
  expect(await client.heal(1)).toMatchObject([{ id: 1, fault: { name: 'partition' } }])
  expect(await client.list()).toEqual([])
})

it('the lab daemon holds a thousand faults of two clients, rejects more, and heals all', async () => {
  const { client } = await startLabDaemon()
  const other = new LabDaemonClient(socketFile())
  const each = async (one: LabDaemonClient) => {
    for (let count = 0; count < 500; count++)
      await one.set({ between: ['A', 'B'], isOneWay: true, fault: { name: 'latency', ms: count + 1 } })
  }
  await Promise.all([each(client), each(other)])
  const ids = (await client.list()).map(({ id }) => id)
  expect(ids).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1))
  await expect(client.set(cut)).rejects.toThrow('the lab has the maximum of 1000 faults')
  const healed = await Promise.all([client.heal(), other.heal(), client.heal(7).catch(() => [])])
  expect(healed.flat().map(({ id }) => id)).toHaveLength(1000)
  expect(await other.list()).toEqual([])
})

/** Starts a server with a clock, whose responses can be held. Records the clock settings that it receives. */
const startSlowServer = async (skewMs = 0) => {
  const settings: string[] = []
  const waiting: (() => void)[] = []
  let shown = skewMs
  let isHeld = false
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString()))
    request.on('end', () => {
      const { skew } = body === '' ? {} : (JSON.parse(body) as { skew: string })
      if (skew !== undefined) {
        settings.push(skew)
        shown = Number.parseInt(skew, 10)
      }
      const facts = request.url?.endsWith('states') ? { states: [] } : { skew_ms: shown, disk: { state: 'ok' } }
      const answer = () => response.end(JSON.stringify(facts))
      if (isHeld) waiting.push(answer)
      else answer()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stops.push(() => server.close())
  const { port } = server.address() as net.AddressInfo
  const hold = () => (isHeld = true)
  const release = () => {
    isHeld = false
    for (const answer of waiting.splice(0)) answer()
  }
  return { apiAddress: `http://127.0.0.1:${port}`, settings, waiting, hold, release }
}

const daemonOver = (apiAddress: string, isSuccessor = false) => {
  const events: EventDraft[] = []
  const emit = (event: EventDraft) => void events.push(event)
  const daemon = new LabDaemon([], {
    clock: systemClock,
    clusters: () => [{ name: 'A', apiAddress }],
    emit,
    isSuccessor,
  })
  return { daemon, events }
}

const skew = (ms: number) => ({ cluster: 'A', fault: { name: 'skew', ms } }) as const

it('the lab daemon does not restore a fault that is healed during a check of its server', async () => {
  const { apiAddress, settings, waiting, hold, release } = await startSlowServer()
  const { daemon } = daemonOver(apiAddress)
  await daemon.set(skew(-5))
  hold()
  const healing = daemon.heal()
  await until(() => waiting.length === 1)
  const reminding = daemon.restoreFaults('A')
  release()
  await Promise.all([healing, reminding])
  expect(settings).toEqual(['-5ms', '0s'])
  expect(daemon.active).toEqual([])
})

it('the newer of two faults stays in force if its server is checked while it is set', async () => {
  const { apiAddress, settings, waiting, hold, release } = await startSlowServer()
  const { daemon } = daemonOver(apiAddress)
  await daemon.set(skew(-5))
  hold()
  const setting = daemon.set(skew(7))
  await until(() => waiting.length === 1)
  const reminding = daemon.restoreFaults('A')
  release()
  await Promise.all([setting, reminding])
  expect(settings).toEqual(['-5ms', '7ms', '7ms'])
  expect(daemon.active).toMatchObject([{ fault: { ms: 7 } }])
})

it('the lab daemon heals a fault on a server that did not answer before', async () => {
  const { apiAddress, settings, release, hold } = await startSlowServer()
  const { daemon, events } = daemonOver(apiAddress)
  hold()
  await expect(daemon.set(skew(5))).rejects.toThrow('cluster A does not respond')
  release()
  await daemon.restoreFaults('A')
  expect([settings, daemon.active]).toEqual([['5ms', '0s'], []])
  expect(events).toEqual([
    { kind: 'note', cluster: 'A', details: { text: 'removed faults that the lab did not set: clock +5 ms' } },
  ])
  await daemon.restoreFaults('A')
  expect(settings).toEqual(['5ms', '0s'])
})

it('the lab daemon removes faults of an earlier lab daemon and restores its own', async () => {
  const { apiAddress, settings } = await startSlowServer(300_000)
  const { daemon } = daemonOver(apiAddress, true)
  await daemon.set(skew(7))
  await daemon.restoreFaults('A')
  expect(settings).toEqual(['7ms', '0s', '7ms'])
  const other = await startSlowServer(300_000)
  await daemonOver(other.apiAddress, true).daemon.heal()
  expect(other.settings).toEqual(['0s'])
})

it('a heal of all faults includes a fault that is being set', async () => {
  const { apiAddress, settings, waiting, hold, release } = await startSlowServer()
  const { daemon } = daemonOver(apiAddress)
  hold()
  const setting = daemon.set(skew(5))
  await until(() => waiting.length === 1)
  const healing = daemon.heal()
  release()
  await setting
  expect(await healing).toMatchObject([{ fault: { ms: 5 } }])
  expect([settings, daemon.active]).toEqual([['5ms', '0s'], []])
})

it('the duration of a fault counts from the time when it is set', async () => {
  const { apiAddress, settings, waiting, hold, release } = await startSlowServer()
  const { daemon } = daemonOver(apiAddress)
  hold()
  const setting = daemon.set({ ...skew(5), forMs: 60_000 })
  await until(() => waiting.length === 1)
  const answeredMs = systemClock.now()
  release()
  expect((await setting).untilMs).toBeGreaterThanOrEqual(answeredMs + 60_000)
  await daemon.close()
  expect(settings).toEqual(['5ms'])
})

const latency = (fault: object) => ({ between: ['A', 'B'], fault: { name: 'latency', ...fault } })

it.each([
  [latency({ ms: 1e300 }), 'ms is 1e+300, but must be a number from 0 to 2147483647'],
  [latency({ ms: -1 }), 'ms is -1, but must be a number'],
  [latency({ ms: '5' }), 'ms is a string, but must be a number'],
  [latency({ ms: 5, jitterMs: 1e300 }), 'jitterMs is 1e+300, but must be a number'],
  [latency({}), 'the fault requires "ms"'],
  [{ ...cut, forMs: 1e300 }, 'forMs is 1e+300, but must be a number'],
  [{ ...cut, forMs: -1 }, 'forMs is -1, but must be a number'],
  [{ between: ['A', 'B'], fault: { name: '__proto__' } }, 'the name of a fault must be partition'],
  [{ between: ['A', 'B'], fault: { name: 'constructor' } }, 'the name of a fault must be'],
  [{ between: ['A'], fault: { name: 'hold' } }, '"between" must be the names of two'],
  [{ between: ['A', {}], fault: { name: 'hold' } }, '"between" must be the names of two'],
  [{ between: ['__proto__', 'constructor'], fault: { name: 'hold' } }, 'there is no cluster "__proto__"'],
  [{ cluster: '__proto__', fault: { name: 'skew', ms: 1 } }, 'there is no cluster "__proto__"'],
  [{ cluster: 'A', fault: { name: 'toString' } }, 'the name of a fault must be hold-state'],
  [{ cluster: 'A', fault: { name: 'skew', ms: 1e300 } }, 'ms is 1e+300, but must be a number from -315360000000'],
  [
    { cluster: 'A', fault: { name: 'disk', state: 'constructor' } },
    'state is "constructor", but must be "full", "fail" or "slow"',
  ],
  [
    { cluster: 'A', fault: { name: 'corrupt', tree: 'local', page: 1.5 } },
    'page is a number, but must be from 0 to 255',
  ],
  [
    { ...cut, at: { proxy: 'x', direction: 'sideways', toxic: 't', toxicity: 1 } },
    'direction is "sideways", but must be "up" or "down"',
  ],
  [{ ...cut, at: { proxy: 'x', direction: 'up', toxic: 't', toxicity: 1 } }, 'there is no proxy x'],
  [{ cluster: 'A', fault: [] }, 'the body is not a fault'],
  [[], 'the body is not a fault'],
])('the control API of the lab daemon rejects %j', async (request, text) => {
  const { client } = await startLabDaemon()
  await expect(client.set(request as never)).rejects.toMatchObject({ message: expect.stringContaining(text) })
  expect(await client.list()).toEqual([])
})
