import { createHash } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { createSeededRandom, type Random } from '../../../src/base/random.js'
import { Pipe } from '../../../src/lab/proxy/apply-faults.js'
import { Link } from '../../../src/lab/proxy/link.js'
import { LinkDirection } from '../../../src/lab/proxy/direction.js'
import { until } from '../../support/until.js'

const BYTES = 12 * 1024 * 1024

type Draw = (below: number) => number

const drawFrom = (seed: string): Draw => {
  const random = createSeededRandom(seed)
  return (below) => random.bytes(4).readUInt32BE() % below
}

/** Sends pieces of many sizes as fast as they are taken, then its end; resolves to the hash of them all. */
const sendAll = async (socket: net.Socket, draw: Draw): Promise<string> => {
  const hash = createHash('sha256')
  for (let sent = 0; sent < BYTES; ) {
    const piece = Buffer.alloc(1 + draw(draw(2) === 0 ? 200 : 100_000), `${sent};`)
    sent += piece.length
    hash.update(piece)
    if (!socket.write(piece)) await once(socket, 'drain')
  }
  socket.end()
  return hash.digest('hex')
}

/** Reads to the end with random pauses. Resolves to the hash of the data. */
const readAll = async (socket: net.Socket, draw: Draw): Promise<string> => {
  const hash = createHash('sha256')
  // The other direction stays open.
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    hash.update(piece as Buffer)
    if (draw(20) === 0) await setTimeout(draw(5))
  }
  return hash.digest('hex')
}

const FAULTS: readonly ((link: Link, way: 'up' | 'down') => void)[] = [
  (link, way) => link.hold(way),
  (link, way) => link.partition(way),
  (link, way) => link.setFault('latency', { ms: 2, jitterMs: 1 }, way),
  (link, way) => link.setFault('slicer', { averageBytes: 5000, variationBytes: 3000 }, way),
  (link, way) => link.setFault('bandwidth', { bytesPerSecond: 50_000_000 }, way),
]

/** Opens a connection through a link, and returns both ends. */
const connect = async (random: Random) => {
  const server = net.createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const target = { host: '127.0.0.1', port: (server.address() as net.AddressInfo).port }
  const link = await Link.open({ target, clock: systemClock, random })
  const client = net.connect({ port: link.port, host: '127.0.0.1', allowHalfOpen: true })
  const [[accepted]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [
    [net.Socket],
    unknown,
  ]
  // Errors reach the readers and writers; errors after the test are ignored.
  for (const socket of [client, accepted]) socket.on('error', () => undefined)
  const close = async () => {
    client.destroy()
    accepted.destroy()
    await link.close()
    server.close()
  }
  return { link, client, accepted, [Symbol.asyncDispose]: close }
}

it('a link keeps every byte in order, both ways, while faults change and readers stop', async () => {
  const seed = process.env.SEED ?? String(Date.now())
  console.log(`SEED=${seed}`)
  await using pair = await connect(createSeededRandom(seed))
  const { link, client, accepted } = pair
  let isOver = false
  const disturb = async () => {
    const draw = drawFrom(`${seed} faults`)
    while (!isOver) {
      const way = draw(2) === 0 ? 'up' : 'down'
      FAULTS[draw(FAULTS.length)]?.(link, way)
      await setTimeout(draw(4))
      link.clearFaults(way)
      if (draw(2) === 0) await setTimeout(draw(4))
    }
  }
  const streams = Promise.all([
    sendAll(client, drawFrom(`${seed} up`)),
    readAll(accepted, drawFrom(`${seed} reads up`)),
    sendAll(accepted, drawFrom(`${seed} down`)),
    readAll(client, drawFrom(`${seed} reads down`)),
  ]).finally(() => {
    isOver = true
  })
  const [[up, upCame, down, downCame]] = await Promise.all([streams, disturb()])
  expect([upCame, downCame]).toEqual([up, down])
  expect([link.passedBytes.up >= BYTES, link.passedBytes.down >= BYTES]).toEqual([true, true])
  await until(() => link.connectionCount === 0)
}, 60_000)

it('a link stops reading from a sender whose receiver does not read, and loses nothing', async () => {
  for (const way of ['up', 'down'] as const) {
    await using pair = await connect(createSeededRandom(1))
    const { link, client, accepted } = pair
    const [sender, receiver] = way === 'up' ? [client, accepted] : [accepted, client]
    receiver.pause()
    const total = 96 * 1024 * 1024
    sender.end(Buffer.alloc(total, 'x'))
    await until(() => link.passedBytes[way] > 0)
    let passed = -1
    await until(async () => {
      const before = passed
      passed = link.passedBytes[way]
      await setTimeout(20)
      return passed === before
    })
    expect(passed).toBeLessThan(total / 2)
    let received = 0
    receiver.on('data', ({ length }: Buffer) => {
      received += length
    })
    receiver.resume()
    await once(receiver, 'end')
    expect(received).toBe(total)
  }
}, 60_000)

it('a finished pipe has passed on every byte before its sockets close', async () => {
  const server = net.createServer({ pauseOnConnect: true, allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dial = async () => {
    const socket = net.connect({ port: (server.address() as net.AddressInfo).port, host: '127.0.0.1' })
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(socket, 'connect')])) as [
      [net.Socket],
      unknown,
    ]
    return { socket, accepted }
  }
  const [{ socket: sink, accepted: receiver }, { socket: sender, accepted: source }] = [await dial(), await dial()]
  const direction = new LinkDirection()
  direction.setFaults({ slicer: { averageBytes: 10 } })
  const reset = () => undefined
  const pipe = new Pipe({ source, sink, direction, clock: systemClock, random: createSeededRandom(1), reset })
  source.on('data', (bytes: Buffer) => pipe.take(bytes))
  source.resume()
  let sent = 0
  // Fills the kernel buffers; the rest stays below the limit that makes the pipe wait.
  for (; sink.writableLength === 0; sent += 1000) sink.write(Buffer.alloc(1000))
  sender.end('the last words')
  let received = 0
  receiver.on('data', ({ length }: Buffer) => {
    received += length
  })
  await until(() => direction.passedBytes > 0)
  receiver.resume()
  await pipe.finished
  expect(sink.writableLength).toBe(0)
  sink.destroy()
  await once(receiver, 'end')
  expect(received).toBe(sent + 'the last words'.length)
  for (const socket of [sender, source, receiver]) socket.destroy()
  server.close()
})
