import { once } from 'node:events'
import net from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { Link } from '../../../src/lab/proxy/link.js'
import { until } from '../../support/until.js'

/** An echo server, a link in front of it, and a client of the link. */
const stops: (() => unknown)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

const serve = async () => {
  const peers: net.Socket[] = []
  const server = net.createServer((socket) => {
    peers.push(socket)
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const target = { host: '127.0.0.1', port }
  const link = await Link.open({ target, clock: systemClock, random: createSeededRandom(7) })
  stops.push(
    () => server.close(),
    () => link.close(),
  )
  return { link, peers }
}

const dial = async (link: Link) => {
  const socket = net.connect(link.port, '127.0.0.1')
  const client = { socket, text: '', isEnded: false, errorCode: '', isClosed: false }
  socket.on('data', (chunk: Buffer) => {
    client.text += chunk.toString()
  })
  socket.on('end', () => {
    client.isEnded = true
  })
  socket.on('close', () => {
    client.isClosed = true
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    client.errorCode = error.code ?? 'unknown'
  })
  stops.push(() => socket.destroy())
  await once(socket, 'connect')
  return client
}

it('a link forwards data in both directions and the end of a connection', async () => {
  const { link } = await serve()
  const client = await dial(link)
  client.socket.end('hello')
  await until(() => client.isClosed)
  expect(client.text).toBe('hello')
  expect(client.errorCode).toBe('')
  await until(() => link.connectionCount === 0)
})

const openSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length

it('a link closes the sockets of ended connections, which would keep the process alive', async () => {
  const before = openSockets()
  const { link, peers } = await serve()
  const client = await dial(link)
  client.socket.end('hello')
  await until(() => client.isClosed && peers.every((peer) => peer.closed))
  await until(() => link.connectionCount === 0 && openSockets() === before)
})

it('a partitioned link withholds data and resets until it is healed', async () => {
  const { link, peers } = await serve()
  const [cut, other] = [await dial(link), await dial(link)]
  await until(() => peers.length === 2)
  link.partition()
  cut.socket.write('late')
  for (const peer of peers) peer.resetAndDestroy()
  await until(() => peers.every(({ destroyed }) => destroyed))
  const { link: whole } = await serve()
  const proof = await dial(whole)
  proof.socket.write('ping')
  await until(() => proof.text === 'ping')
  expect([cut.text, cut.isClosed, other.isClosed]).toEqual(['', false, false])
  link.heal()
  await until(() => cut.isClosed && other.isClosed)
})

it('a link can be partitioned in one direction', async () => {
  const { link, peers } = await serve()
  const client = await dial(link)
  link.partition('down')
  let received = ''
  await until(() => peers.length === 1)
  peers[0]?.on('data', (chunk: Buffer) => {
    received += chunk.toString()
  })
  client.socket.write('question')
  await until(() => received === 'question')
  expect(client.text).toBe('')
  link.heal('down')
  await until(() => client.text === 'question')
})

it('a partitioned link connects to its target only after it is healed', async () => {
  const { link, peers } = await serve()
  link.partition('up')
  const client = await dial(link)
  client.socket.write('early')
  expect(peers).toHaveLength(0)
  link.heal()
  await until(() => client.text === 'early')
})

it('a held link stops reading, and delivers everything after its release', async () => {
  const { link } = await serve()
  const client = await dial(link)
  link.hold('up')
  const total = 64 * 1024 * 1024
  client.socket.write(Buffer.alloc(total, 'x'))
  await until(() => client.socket.bytesWritten > 0)
  let received = 0
  client.socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
    received += chunk.length
  })
  expect(client.socket.writableLength).toBeGreaterThan(total / 2)
  link.release()
  await until(() => received === total)
})

it('a link that is down resets connections and refuses new ones', async () => {
  const { link } = await serve()
  const client = await dial(link)
  await link.down()
  await until(() => client.isClosed)
  expect(client.errorCode).toBe('ECONNRESET')
  await expect(dial(link)).rejects.toThrow('ECONNREFUSED')
  await link.up()
  const again = await dial(link)
  again.socket.write('back')
  await until(() => again.text === 'back')
})

it('a closed link stays closed, even if it is brought up at the same time', async () => {
  for (const isAtThatMoment of [false, true]) {
    const { link } = await serve()
    if (isAtThatMoment) await link.down()
    const up = isAtThatMoment ? link.up() : undefined
    await link.close()
    await (up ?? link.up())
    await expect(dial(link)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  }
})

it('reset_peer resets a connection after a delay from its first data', async () => {
  const { link } = await serve()
  link.setFault('reset_peer', { ms: 10 }, 'up')
  // With pending data, Node reports an end instead of a reset.
  link.hold('down')
  const client = await dial(link)
  client.socket.write('x')
  await until(() => client.errorCode === 'ECONNRESET')
})

it('limit_data closes a connection after the given number of bytes', async () => {
  const { link } = await serve()
  link.setFault('limit_data', { bytes: 5 }, 'down')
  const client = await dial(link)
  client.socket.write('0123456789')
  await until(() => client.isEnded)
  expect(client.text).toBe('01234')
})

it('latency delays data and keeps its order', async () => {
  const { link } = await serve()
  link.setFault('latency', { ms: 20, jitterMs: 15 }, 'up')
  const client = await dial(link)
  const started = performance.now()
  for (let index = 0; index < 10; index++) {
    client.socket.write(`${index}`)
    await new Promise(setImmediate)
  }
  await until(() => client.text.length === 10)
  expect(client.text).toBe('0123456789')
  expect(performance.now() - started).toBeGreaterThan(5)
})

it('bandwidth limits the throughput', async () => {
  const { link } = await serve()
  link.setFault('bandwidth', { bytesPerSecond: 100_000 }, 'up')
  const client = await dial(link)
  const started = performance.now()
  client.socket.write(Buffer.alloc(20_000, 'x'))
  await until(() => client.text.length === 20_000)
  expect(performance.now() - started).toBeGreaterThan(150)
})

it('timeout drops all data and closes the connection afterwards', async () => {
  const { link } = await serve()
  link.setFault('timeout', { ms: 10 }, 'up')
  const client = await dial(link)
  client.socket.write('lost')
  await until(() => client.isClosed)
  expect(client.text).toBe('')
})

it('a link counts the bytes of each direction over all connections', async () => {
  const { link } = await serve()
  const [first, second] = [await dial(link), await dial(link)]
  link.partition('down')
  first.socket.write('hello')
  second.socket.write('you')
  await until(() => link.passedBytes.up === 8)
  expect(link.passedBytes).toEqual({ up: 8, down: 0 })
  link.heal()
  await until(() => first.text === 'hello' && second.text === 'you')
  expect(link.passedBytes).toEqual({ up: 8, down: 8 })
})

it('slicer splits data into small pieces without loss', async () => {
  const { link, peers } = await serve()
  const client = await dial(link)
  await until(() => peers.length === 1)
  const sizes: number[] = []
  peers[0]?.prependListener('data', (chunk: Buffer) => sizes.push(chunk.length))
  link.setFault('slicer', { averageBytes: 8, variationBytes: 3, delayMs: 1 }, 'up')
  const text = Array.from({ length: 30 }, (_, index) => `piece ${index};`).join('')
  client.socket.write(text)
  await until(() => client.text === text)
  expect(sizes.length).toBeGreaterThan(5)
})

it('slow_close delays the end of a connection, but no data', async () => {
  const { link, peers } = await serve()
  const client = await dial(link)
  await until(() => peers.length === 1)
  link.setFault('slow_close', { ms: 60_000 }, 'up')
  client.socket.end('hello')
  await until(() => client.text === 'hello')
  let isEnded = false
  peers[0]?.once('end', () => {
    isEnded = true
  })
  // The other direction is not delayed.
  const other = await dial(link)
  await until(() => peers.length === 2)
  peers[1]?.end()
  await until(() => other.isEnded)
  expect(isEnded).toBe(false)
})
