import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { LIMITS } from '../../../src/base/limits.js'
import { nextTurn } from '../../../src/base/turn.js'
import { LogicalError } from '../../../src/logical/errors.js'
import type {
  FetchKeysReply,
  FetchKeysRequest,
  ForwardReply,
  ForwardRequest,
  StreamDown,
} from '../../../src/replication/rpc/messages.js'
import { overtakerIn, refusalCodeOf, refusalError } from '../../../src/replication/rpc/refusal.js'
import type { Caller, ClusterService, PrimaryStream } from '../../../src/replication/rpc/service.js'
import type { ClusterPort, PrimaryConnection } from '../../../src/replication/rpc/transport.js'
import type { PrimaryCredentials } from '../../../src/replication/model/types.js'
import { stopAll, stopLater, TestSet, TIMES } from '../../support/replication-fixture.js'
import { type FaultyTransport, TRANSPORTS } from '../../support/transports.js'
import { until } from '../../support/until.js'

const notScripted = async (): Promise<never> => {
  throw new Error('not scripted')
}

/** A service whose responses the test defines. Records its callers. */
class ScriptedService implements ClusterService {
  readonly callers: Caller[] = []
  onForward: (payload: Buffer, caller: Caller) => Promise<Buffer> = async (payload) => payload
  onFetch: (caller: Caller) => AsyncIterable<FetchKeysReply> = async function* () {}
  onStream: (stream: PrimaryStream, caller: Caller) => Promise<void> = async () => undefined

  readonly bootstrap = notScripted
  readonly echo = notScripted
  readonly conflictingPages = notScripted
  readonly subPageHashes = notScripted
  readonly ping = notScripted
  readonly commonPosition = notScripted

  async forward(caller: Caller, { payload }: ForwardRequest): Promise<ForwardReply> {
    this.callers.push(caller)
    return { who: null, payload: await this.onForward(payload, caller) }
  }

  fetchKeys(caller: Caller): AsyncIterable<FetchKeysReply> {
    this.callers.push(caller)
    return this.onFetch(caller)
  }

  streamWals(caller: Caller, stream: PrimaryStream): Promise<void> {
    this.callers.push(caller)
    return this.onStream(stream, caller)
  }
}

afterEach(stopAll)

const FETCH: FetchKeysRequest = { who: null, session: '', tree: 0, is_whole: true, sub_pages: [] }
const KIB = 1024
/** More than the buffers of both sides of a call. */
const SENT_BYTES = 24 * KIB * KIB
const MESSAGE_BYTES = 64 * KIB

/** Long enough for a machine that stops for a while. */
const times = { ...TIMES, keepaliveTimeMs: 1000, keepaliveTimeoutMs: 5000, connectTimeoutMs: 20_000 }

const connect = ({ transport }: FaultyTransport, port: ClusterPort, credentials: PrimaryCredentials, own = times) =>
  transport.connect(`https://${port.address}`, { credentials, times: own, signal: new AbortController().signal })

const shipment = (index: number, bytes = 0): StreamDown => ({
  shipment: {
    slices: [{ first_index: index, last_index: index, hash: Buffer.alloc(0), frame: Buffer.alloc(bytes) }],
    last_index: index,
  },
})

const untilDisconnected = (caller: Caller | undefined): Promise<void> => until(() => caller?.gone.aborted === true)

describe.each(TRANSPORTS)('cluster transport over %s', (name, create) => {
  const start = async (own = times) => {
    const faulty = create(own)
    const set = await TestSet.create()
    const service = new ScriptedService()
    const port = await faulty.transport.listen('127.0.0.1:0')
    stopLater({ stop: () => port.close() })
    port.serve(set.identity, service)
    const open = async (commonName = 'cn-c'): Promise<PrimaryConnection> => {
      const connection = await connect(faulty, port, await set.credentials(commonName), own)
      stopLater({ stop: async () => connection.close() })
      return connection
    }
    const forward = (connection: PrimaryConnection, text: string, limits = {}) =>
      connection.call('forward', { who: null, payload: Buffer.from(text) }, limits)
    return { ...faulty, faulty, set, service, port, open, forward }
  }

  describe('identity', () => {
    test('the service learns the name in the certificate of a client', async () => {
      const { service, open, forward, port } = await start()
      const connection = await open('cn-client')
      expect(connection.address).toBe(port.address)
      expect((await forward(connection, 'hello')).payload.toString()).toBe('hello')
      expect(service.callers[0]?.commonName).toBe('cn-client')
    })

    test('a connection fails with a certificate or a server of another authority', async () => {
      const { faulty, port, set } = await start()
      const other = await TestSet.create()
      const foreign = await other.credentials('cn-c')
      const own = await set.credentials('cn-c')
      const wrong: PrimaryCredentials[] = [
        foreign,
        { ...own, certificate: foreign.certificate, privateKey: foreign.privateKey },
        { ...own, privateKey: foreign.privateKey },
        { ...own, caCertificate: foreign.caCertificate },
        { ...own, serverName: other.identity.serverName },
        { ...own, serverName: '' },
        { serverName: own.serverName, caCertificate: own.caCertificate } as PrimaryCredentials,
      ]
      for (const credentials of wrong) await expect(connect(faulty, port, credentials)).rejects.toThrow()
    })

    test('a connection fails to an impostor with the same name and another key', async () => {
      const { faulty, port, set } = await start()
      const impostor = await TestSet.create(set.identity.serverName)
      const forged = { ...(await impostor.credentials('cn-c')), caCertificate: set.identity.certificate }
      await expect(connect(faulty, port, forged)).rejects.toThrow()
    })

    test('credentials of one kind do not connect to the other kind behind the same port', async () => {
      const { faulty, port, set, open, forward } = await start()
      const other = await TestSet.create()
      port.serve(other.identity, new ScriptedService())
      const theirs = await connect(faulty, port, await other.credentials('cn-p'))
      const ours = await open()
      const crossed = { ...(await other.credentials('cn-d')), serverName: set.identity.serverName }
      await expect(connect(faulty, port, { ...crossed, caCertificate: set.identity.certificate })).rejects.toThrow()
      port.withdraw(other.identity.serverName)
      await until(() => theirs.lost.aborted)
      await forward(ours, 'still here')
      await expect(connect(faulty, port, await other.credentials('cn-p'))).rejects.toThrow()
    })
  })

  describe('calls', () => {
    test('a rejected call names its reason and the node to ask instead', async () => {
      const { service, open, forward } = await start()
      const overtaker = {
        clusterId: 'c',
        apiAddress: 'https://b:8200',
        epochs: [{ id: 'e', number: 2, parent: 'd', forkIndex: 7, applied: [{ index: 7, hash: 'ab01' }] }],
        clusterAddresses: ['https://b:8201'],
      }
      service.onForward = async () => {
        throw refusalError('epoch', 'overtaken', { overtaker })
      }
      const error = await forward(await open(), 'x').catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(LogicalError)
      expect((error as LogicalError).message).toBe('overtaken')
      expect(refusalCodeOf(error)).toBe('epoch')
      expect(overtakerIn(error)).toEqual(overtaker)
    })

    test('a bug in a handler becomes an error without a rejection code', async () => {
      const { service, open, forward } = await start()
      service.onForward = async () => {
        throw new TypeError('a bug')
      }
      const error = await forward(await open(), 'x').catch((reason: unknown) => reason)
      expect((error as LogicalError).message).toBe('a bug')
      expect(refusalCodeOf(error)).toBe('failed')
    })

    test('concurrent calls get their own answers', async () => {
      const { service, open, forward } = await start()
      const waiting = new Map<string, () => void>()
      service.onForward = async (payload) => {
        await new Promise<void>((resolve) => waiting.set(payload.toString(), resolve))
        return payload
      }
      const connection = await open()
      const calls = ['a', 'b', 'c'].map((text) => forward(connection, text))
      await until(() => waiting.size === calls.length)
      for (const text of ['c', 'a', 'b']) waiting.get(text)?.()
      const replies = await Promise.all(calls)
      expect(replies.map(({ payload }) => payload.toString())).toEqual(['a', 'b', 'c'])
    })

    test('a call that times out is aborted on both sides', async () => {
      const { service, open, forward } = await start()
      service.onForward = () => new Promise(() => undefined)
      const connection = await open()
      // On a busy machine, a call may time out before it arrives at the server.
      for (let timeoutMs = 30; service.callers.length === 0; timeoutMs *= 2)
        await expect(forward(connection, 'x', { timeoutMs })).rejects.toThrow(
          `no response from ${connection.address} within ${timeoutMs} ms`,
        )
      await untilDisconnected(service.callers[0])
    })

    test('an aborted call ends with the reason of its signal and is aborted on the server', async () => {
      const { service, open, forward } = await start()
      service.onForward = () => new Promise(() => undefined)
      const connection = await open()
      const stop = new AbortController()
      const call = forward(connection, 'x', { signal: stop.signal })
      await until(() => service.callers.length === 1)
      stop.abort(new LogicalError('unavailable', 'stopping'))
      await expect(call).rejects.toThrow('stopping')
      await untilDisconnected(service.callers[0])
      await expect(forward(connection, 'x', { signal: stop.signal })).rejects.toThrow('stopping')
    })

    test('a call with a message over the maximum fails', async () => {
      const { open, service } = await start()
      const connection = await open()
      const payload = Buffer.alloc(LIMITS.rpcMessageBytesMax + 1)
      await expect(connection.call('forward', { who: null, payload }, {})).rejects.toThrow('larger')
      expect(service.callers).toEqual([])
    })
  })

  describe('server streams', () => {
    test('a stream delivers its messages in order and ends', async () => {
      const { service, open } = await start()
      service.onFetch = async function* () {
        for (let at = 0; at < 300; at++) yield { unknown: [], filtered: [], entries: Buffer.from(`${at}`) }
      }
      const got: string[] = []
      for await (const { entries } of (await open()).fetchKeys(FETCH)) got.push(entries.toString())
      expect(got).toEqual(Array.from({ length: 300 }, (_, at) => `${at}`))
    })

    test('a stream delivers a rejection after some messages', async () => {
      const { service, open } = await start()
      service.onFetch = async function* () {
        yield { unknown: [], filtered: [], entries: Buffer.from('one') }
        throw refusalError('superseded', 'the session is over')
      }
      const got: string[] = []
      const read = async () => {
        for await (const { entries } of (await open()).fetchKeys(FETCH)) got.push(entries.toString())
      }
      const error = await read().catch((reason: unknown) => reason)
      expect(refusalCodeOf(error)).toBe('superseded')
      expect(got).toEqual(['one'])
    })

    test('a stream is produced at the pace of its reader, and stops with the reader', async () => {
      const { service, open } = await start()
      let made = 0
      service.onFetch = async function* () {
        for (;;) {
          made++
          yield { unknown: [], filtered: [], entries: Buffer.alloc(MESSAGE_BYTES) }
        }
      }
      const reading = (await open()).fetchKeys(FETCH)
      await reading.next()
      const still = await settled(() => made)
      expect(still * MESSAGE_BYTES).toBeLessThan(SENT_BYTES)
      for (let more = 0; more < still + 10; more++) await reading.next()
      expect(made).toBeGreaterThan(still)
      await reading.return(undefined)
      await untilDisconnected(service.callers[0])
    })
  })

  describe('duplex streams', () => {
    test('a duplex stream delivers messages in both directions in order', async () => {
      const { service, open } = await start()
      const received: number[] = []
      service.onStream = async (stream) => {
        for (;;) {
          for (const { applied_index = 0 } of await stream.receive()) {
            received.push(applied_index)
            await stream.send(shipment(applied_index))
          }
        }
      }
      const stream = (await open()).streamWals()
      const sent = Array.from({ length: 200 }, (_, at) => at + 1)
      for (const applied_index of sent) await stream.send({ applied_index })
      const answered: (number | undefined)[] = []
      while (answered.length < sent.length)
        for (const { shipment: got } of await stream.receive()) answered.push(got?.last_index)
      expect(received).toEqual(sent)
      expect(answered).toEqual(sent)
    })

    test('a duplex stream sends at the pace of its reader', async () => {
      const { service, open } = await start()
      let sent = 0
      const count = SENT_BYTES / MESSAGE_BYTES
      service.onStream = async (stream) => {
        for (let index = 1; index <= count; index++) {
          await stream.send(shipment(index, MESSAGE_BYTES), MESSAGE_BYTES)
          sent = index
        }
        await stream.receive()
      }
      const stream = (await open()).streamWals()
      await until(() => sent > 0)
      expect(await settled(() => sent)).toBeLessThan(count)
      const got: (number | undefined)[] = []
      while (got.length < count) for (const { shipment: one } of await stream.receive()) got.push(one?.last_index)
      expect(got).toEqual(Array.from({ length: count }, (_, at) => at + 1))
      expect(sent).toBe(count)
    })

    test('a duplex stream ends with the error of the server', async () => {
      const { service, open } = await start()
      let refused: PrimaryStream | undefined
      service.onStream = async (stream) => {
        refused = stream
        await stream.send(shipment(1))
        stream.end(refusalError('revoked', 'no longer'))
      }
      const stream = (await open()).streamWals()
      expect(await stream.receive()).toHaveLength(1)
      await until(() => stream.ended.aborted)
      expect(refusalCodeOf(stream.ended.reason)).toBe('revoked')
      expect(refused?.ended.aborted).toBe(true)
      await expect(stream.receive()).rejects.toThrow('no longer')
    })

    test('a duplex stream that the client ends is aborted on the server', async () => {
      const { service, open } = await start()
      service.onStream = async (stream) => {
        await stream.receive()
      }
      const stream = (await open()).streamWals()
      await until(() => service.callers.length === 1)
      stream.end()
      await untilDisconnected(service.callers[0])
    })
  })

  describe('lost connections', () => {
    test('a cut connection is reported to both sides, its calls fail, and new ones are rejected', async () => {
      const { service, open, forward, network } = await start()
      service.onForward = () => new Promise(() => undefined)
      service.onStream = async (stream) => {
        await stream.receive()
      }
      const connection = await open()
      const stream = connection.streamWals()
      const call = forward(connection, 'x').catch((reason: unknown) => reason)
      await until(() => service.callers.length === 2)
      network.cut()
      expect(refusalCodeOf(await call)).toBeUndefined()
      await until(() => connection.lost.aborted && stream.ended.aborted)
      for (const caller of service.callers) await untilDisconnected(caller)
      await expect(forward(connection, 'x')).rejects.toThrow()
      expect(() => connection.streamWals()).toThrow()
    })

    // The keepalive of simulated messages is tested in virtual time: test/unit/replication/session.test.ts.
    const testKeepalive = test.skipIf(name !== 'gRPC')

    testKeepalive('keepalive detects a frozen connection on both sides', async () => {
      const { service, open, forward, network } = await start()
      service.onStream = async (stream) => {
        await stream.receive()
      }
      const connection = await open()
      // The calls measure the round-trip time for both sides.
      for (const text of ['one', 'two']) await forward(connection, text)
      const stream = connection.streamWals()
      await until(() => service.callers.length === 3)
      network.freeze()
      await until(() => stream.ended.aborted)
      await untilDisconnected(service.callers[2])
      network.thaw()
    })

    testKeepalive('an idle or busy process keeps its connections for longer than the keepalive time', async () => {
      const short = { ...times, keepaliveTimeMs: 150, keepaliveTimeoutMs: 150 }
      const { service, open, forward } = await start(short)
      service.onStream = async (stream) => {
        await stream.receive()
      }
      const connection = await open()
      const stream = connection.streamWals()
      await forward(connection, 'before')
      // Wait until a silent connection, opened later, is cut: an idle one was then idle for longer than both times.
      const other = await start(short)
      const silent = await other.open()
      for (const text of ['one', 'two']) await other.forward(silent, text)
      other.network.freeze()
      await until(() => silent.lost.aborted)
      // In each turn of the event loop, timers run before received data is read.
      for (let turn = 0; turn < 4; turn++) {
        const endMs = systemClock.monotonic() + 400
        while (systemClock.monotonic() < endMs);
        await nextTurn()
      }
      expect((await forward(connection, 'after')).payload.toString()).toBe('after')
      expect([connection.lost.aborted, stream.ended.aborted, service.callers[0]?.gone.aborted]).toEqual([
        false,
        false,
        false,
      ])
    })

    test('a closed connection is reported to the other side', async () => {
      const { service, open } = await start()
      service.onStream = async (stream) => {
        await stream.receive()
      }
      const connection = await open()
      connection.streamWals()
      await until(() => service.callers.length === 1)
      connection.close()
      expect(connection.lost.reason).toBeInstanceOf(LogicalError)
      await untilDisconnected(service.callers[0])
    })

    test('cutting a common name closes only connections with this name', async () => {
      const { port, set, open, forward } = await start()
      const [one, other] = [await open('cn-one'), await open('cn-other')]
      port.cut(set.identity.serverName, 'cn-one')
      await until(() => one.lost.aborted)
      await forward(other, 'still here')
      await forward(await open('cn-one'), 'again')
    })

    test('serving an identity again, or closing the port, closes its connections', async () => {
      const { port, set, open, faulty } = await start()
      const former = await open()
      port.serve(set.identity, new ScriptedService())
      await until(() => former.lost.aborted)
      const next = await open()
      await port.close()
      await until(() => next.lost.aborted)
      await expect(connect(faulty, port, await set.credentials('cn-c'))).rejects.toBeInstanceOf(LogicalError)
    })
  })

  test('a transport rejects a second port at the same address', async () => {
    const { transport, port } = await start()
    await expect(transport.listen(port.address)).rejects.toThrow()
  })

  test('a connection attempt ends with the reason of its signal', async () => {
    const { transport, port, set } = await start()
    const stop = AbortSignal.abort(new LogicalError('unavailable', 'stopping'))
    const credentials = await set.credentials('cn-c')
    await expect(transport.connect(port.address, { credentials, times, signal: stop })).rejects.toThrow('stopping')
  })
})

/** Returns the number after it has stopped growing. */
const settled = async (read: () => number): Promise<number> => {
  for (let last = -1, same = 0; ; ) {
    const now = read()
    same = now === last ? same + 1 : 0
    if (same === 50) return now
    last = now
    await new Promise((resolve) => setTimeout(resolve, 4))
  }
}
