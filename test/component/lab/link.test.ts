import { once } from 'node:events'
import net from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { Link } from '../../../src/lab/proxy/link.js'
import { until } from '../../support/until.js'

/** A server that answers with what it is sent, the link in front of it, and a client of that link. */
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

it('passes bytes both ways, and the end of a connection', async () => {
  const { link } = await serve()
  const client = await dial(link)
  client.socket.end('hello')
  await until(() => client.isClosed)
  expect(client.text).toBe('hello')
  expect(client.errorCode).toBe('')
  await until(() => link.connectionCount === 0)
})

const openSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length

it('keeps no socket of a connection that has ended, which would keep the process alive', async () => {
  const before = openSockets()
  const { link, peers } = await serve()
  const client = await dial(link)
  client.socket.end('hello')
  await until(() => client.isClosed && peers.every((peer) => peer.closed))
  await until(() => link.connectionCount === 0 && openSockets() === before)
})

it('passes neither bytes nor the end of a connection while it is cut, and both after healing', async () => {
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

it('cuts one way only when asked to', async () => {
  const { link, peers } = await serve()
  const client = await dial(link)
  link.partition('down')
  let heard = ''
  await until(() => peers.length === 1)
  peers[0]?.on('data', (chunk: Buffer) => {
    heard += chunk.toString()
  })
  client.socket.write('question')
  await until(() => heard === 'question')
  expect(client.text).toBe('')
  link.heal('down')
  await until(() => client.text === 'question')
})

it('reaches nobody through a cut link, and dials when it is whole', async () => {
  const { link, peers } = await serve()
  link.partition('up')
  const client = await dial(link)
  client.socket.write('early')
  expect(peers).toHaveLength(0)
  link.heal()
  await until(() => client.text === 'early')
})

it('holds bytes until they are released, without taking more than a little of them', async () => {
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

it('resets what is connected and refuses others while it is down', async () => {
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

it('listens no more once it is closed, whoever brings it up then or does so at that moment', async () => {
  for (const isAtThatMoment of [false, true]) {
    const { link } = await serve()
    if (isAtThatMoment) await link.down()
    const up = isAtThatMoment ? link.up() : undefined
    await link.close()
    await (up ?? link.up())
    await expect(dial(link)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  }
})

it('resets a connection some time after its first piece', async () => {
  const { link } = await serve()
  link.setFault('reset_peer', { ms: 10 }, 'up')
  // Node reports an end in place of the reset if bytes wait to be read beside it.
  link.hold('down')
  const client = await dial(link)
  client.socket.write('x')
  await until(() => client.errorCode === 'ECONNRESET')
})

it('closes a connection after so many bytes', async () => {
  const { link } = await serve()
  link.setFault('limit_data', { bytes: 5 }, 'down')
  const client = await dial(link)
  client.socket.write('0123456789')
  await until(() => client.isEnded)
  expect(client.text).toBe('01234')
})

it('delays what it passes and keeps its order', async () => {
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

it('passes no faster than its bandwidth', async () => {
  const { link } = await serve()
  link.setFault('bandwidth', { bytesPerSecond: 100_000 }, 'up')
  const client = await dial(link)
  const started = performance.now()
  client.socket.write(Buffer.alloc(20_000, 'x'))
  await until(() => client.text.length === 20_000)
  expect(performance.now() - started).toBeGreaterThan(150)
})

it('swallows everything under a timeout and then closes', async () => {
  const { link } = await serve()
  link.setFault('timeout', { ms: 10 }, 'up')
  const client = await dial(link)
  client.socket.write('lost')
  await until(() => client.isClosed)
  expect(client.text).toBe('')
})

it('counts the bytes that passed each way, over all connections', async () => {
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

it('cuts what passes into small pieces, in order and whole', async () => {
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

it('lets the end of a connection pass later, and bytes at once', async () => {
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
  // The other way is not slowed down: a second connection that the far side ends is over at once.
  const other = await dial(link)
  await until(() => peers.length === 2)
  peers[1]?.end()
  await until(() => other.isEnded)
  expect(isEnded).toBe(false)
})
