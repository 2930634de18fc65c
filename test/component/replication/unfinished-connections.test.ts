import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { parseHostPort, systemNetwork } from '../../../src/base/network.js'
import type { ClusterPort } from '../../../src/replication/rpc/transport.js'
import {
  FaultyNetwork,
  openStore,
  pair,
  put,
  stopAll,
  stopLater,
  TestPrimary,
  TestSet,
  TIMES,
  transportOver,
} from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

/** The first bytes of a TLS ClientHello that is longer. */
const HALF_A_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])

const startListener = (connectTimeoutMs: number) =>
  transportOver(systemNetwork, { ...TIMES, connectTimeoutMs }).listen('127.0.0.1:0')

const dial = async (listener: ClusterPort): Promise<net.Socket> => {
  const socket = net.connect(parseHostPort(listener.address))
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.resume()
  return socket
}

describe('an unfinished connection to the cluster port', () => {
  test('an unfinished connection ends at the timeout, whether it sends nothing, half of a hello or single bytes', async () => {
    const listener = await startListener(300)
    stopLater({ stop: () => listener.close() })
    const [silent, half, slow] = await Promise.all([dial(listener), dial(listener), dial(listener)])
    half?.write(HALF_A_HELLO)
    const drip = setInterval(() => slow?.write(HALF_A_HELLO.subarray(0, 1)), 50)
    await Promise.all([silent, half, slow].map((socket) => socket && once(socket, 'close')))
    clearInterval(drip)
  })

  test('an authenticated connection without HTTP/2 ends at the timeout', async () => {
    const set = await TestSet.create()
    const primary = stopLater(await TestPrimary.start({ kind: 'dr', store: await openStore(), set }))
    const { serverName, caCertificate, certificate, privateKey } = await set.credentials('cn-c')
    const identity = { servername: serverName, ca: caCertificate, cert: certificate, key: privateKey }
    const socket = tls.connect({ ...parseHostPort(primary.listener.address), ...identity, ALPNProtocols: ['h2'] })
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect')
    socket.resume()
    await once(socket, 'close')
  })

  test('the oldest unfinished connection is closed beyond the maximum, and secondaries still connect', async () => {
    const network = new FaultyNetwork()
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b, { network })
    const sockets: net.Socket[] = []
    let closed = 0
    for (let n = 0; n < LIMITS.clusterHandshakesMax + 50; n++) {
      const socket = await dial(primary.listener)
      socket.once('close', () => closed++)
      sockets.push(socket)
    }
    await until(() => closed >= 50)
    expect(sockets.slice(-50).filter(({ destroyed }) => destroyed)).toEqual([])
    network.cut()
    await until(() => secondary.follower.connectionState !== 'ready')
    await put(a, 'logical/x', 'x')
    await secondary.caughtUp(a, 'dr')
    for (const socket of sockets) socket.destroy()
  })
})
