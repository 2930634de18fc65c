import { once } from 'node:events'
import http2 from 'node:http2'
import tls from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { parseHostPort, systemNetwork } from '../../../src/base/network.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { fetchBootstrap } from '../../../src/replication/secondary/bootstrap.js'
import {
  openStore,
  pair,
  put,
  stopAll,
  stopLater,
  TestFollower,
  TestPrimary,
  TestSet,
  TIMES,
  transportOver,
} from '../../support/replication-fixture.js'
import { TRANSPORTS } from '../../support/transports.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

const startPrimary = async () => {
  const set = await TestSet.create()
  const store = await openStore()
  const primary = stopLater(await TestPrimary.start({ kind: 'dr', store, set }))
  return { set, store, primary }
}

describe('the cluster port', () => {
  test('the cluster port does not resume a TLS session without a certificate', async () => {
    const { set, primary } = await startPrimary()
    const { host, port } = parseHostPort(primary.listener.address)
    const own = await set.credentials('cn-c')
    const common = { host, port, servername: own.serverName, ca: own.caCertificate, ALPNProtocols: ['h2'] }
    const sessions: Buffer[] = []
    const first = tls.connect({ ...common, cert: own.certificate, key: own.privateKey })
    first.on('session', (session) => sessions.push(session))
    // The first HTTP/2 frame of the server arrives after all session tickets.
    await once(first, 'data')
    for (const session of sessions) {
      const second = tls.connect({ ...common, session })
      let bytes = 0
      second.on('data', (data) => {
        bytes += data.length
      })
      second.on('error', () => undefined)
      await new Promise((resolve) => second.once('close', resolve))
      expect(bytes).toBe(0)
    }
    first.destroy()
  })

  test('the cluster port accepts 8 MiB from a client before it reads them', async () => {
    const { set, primary } = await startPrimary()
    const own = await set.credentials('cn-c')
    const session = http2.connect(`https://${primary.listener.address}`, {
      servername: own.serverName,
      ca: own.caCertificate,
      cert: own.certificate,
      key: own.privateKey,
    })
    const windows = () => [session.remoteSettings.initialWindowSize ?? 0, session.state.remoteWindowSize ?? 0]
    await until(() => windows().every((bytes) => bytes >= 8 * 1024 * 1024))
    session.destroy()
  })

  test('a connection to an address that never responds fails at the connect timeout', async () => {
    const { set } = await startPrimary()
    const mute = await systemNetwork.listen('127.0.0.1:0', () => undefined)
    const attempt = transportOver(systemNetwork).connect(mute.address, {
      credentials: await set.credentials('cn-c'),
      times: { ...TIMES, connectTimeoutMs: 50 },
      signal: new AbortController().signal,
    })
    await expect(attempt).rejects.toThrow('within')
    await mute.close()
  })
})

describe.each(TRANSPORTS)('a replication link over %s', (name, create) => {
  test('a cut replication link reconnects, and writes made during the cut arrive', async () => {
    const { transport, network } = create()
    const [a, b] = [await openStore(), await openStore()]
    const { secondary } = await pair('dr', a, b, { transport })
    for (let round = 0; round < 5; round++) {
      await put(a, `logical/x/${round}`, 'x')
      await secondary.caughtUp(a, 'dr')
      const { dials } = network
      network.cut()
      await until(() => network.dials > dials)
    }
    await secondary.caughtUp(a, 'dr')
    expect(network.dials).toBeLessThan(30)
  })

  test('a replication link carries heartbeats that both sides show', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b, { transport: create().transport })
    await secondary.caughtUp(a, 'dr')
    await until(() => (secondary.follower.primary?.lastHeartbeatMs ?? 0) > 0)
    const seen = primary.server.registry.find('s')
    expect(seen).toMatchObject({ isConnected: true, apiAddress: 'https://cluster-s:8200', clusterId: 'cluster-s' })
    const first = seen?.lastHeartbeatMs ?? 0
    await until(() => (primary.server.registry.find('s')?.lastHeartbeatMs ?? 0) > first)
    expect(secondary.follower.primary).toMatchObject({ isConnected: true, apiAddress: 'https://primary:8200' })
    primary.addresses.push('https://standby:8201')
    await until(() => secondary.follower.knownPrimaryAddresses.includes('https://standby:8201'))
  })

  test('a replication link shows a stopped primary at once, with its last addresses', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b, { transport: create().transport })
    await secondary.caughtUp(a, 'dr')
    await primary.stop()
    await until(() => secondary.follower.connectionState === 'transient_failure')
    expect(secondary.follower.state).toBe('stream-wals')
    expect(secondary.follower.primary?.isConnected).toBe(false)
    expect(primary.server.registry.find('s')).toMatchObject({
      isConnected: false,
      apiAddress: 'https://cluster-s:8200',
    })
  })

  // The keepalive of simulated messages is tested in virtual time: test/unit/replication/session.test.ts.
  test.skipIf(name !== 'gRPC')('both sides notice a frozen replication link through keepalive', async () => {
    const { transport, network } = create()
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b, { transport })
    await secondary.caughtUp(a, 'dr')
    network.freeze()
    await until(() => secondary.follower.connectionState !== 'ready')
    await until(() => primary.server.registry.find('s')?.isConnected === false)
    network.thaw()
    await put(a, 'logical/x/after', 'x')
    await secondary.caughtUp(a, 'dr')
  })

  test('a replication link moves to the first address that answers for its own set', async () => {
    const { transport } = create()
    const [a, b] = [await openStore(), await openStore()]
    const { set, primary, secondary } = await pair('dr', a, b, { transport })
    await secondary.caughtUp(a, 'dr')
    const moved = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set, transport }))
    moved.registered.add('s')
    const foreign = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set: await TestSet.create(), transport }))
    await expect(secondary.follower.updateAddresses([foreign.listener.address])).rejects.toThrow(
      foreign.listener.address,
    )
    expect(secondary.follower.primaryAddress).toBe(`https://${primary.listener.address}`)
    await secondary.follower.updateAddresses([foreign.listener.address, moved.listener.address])
    expect(secondary.follower.primaryAddress).toBe(`https://${moved.listener.address}`)
    await until(() => moved.server.registry.find('s')?.isConnected === true)
    await put(a, 'logical/x/after', 'x')
    await secondary.caughtUp(a, 'dr')
  })

  test('a replication link tries the other known addresses if the first fails', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { transport } = create()
    const set = await TestSet.create()
    const old = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set, transport }))
    const next = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set, transport }))
    old.admission = () => ({ ok: false, code: 'epoch', text: 'fenced' })
    next.registered.add('s')
    const addresses = [old.listener.address, next.listener.address]
    const secondary = await TestFollower.start({
      kind: 'dr',
      store: b,
      set,
      id: 's',
      primary: old,
      addresses,
      transport,
    })
    stopLater(secondary.follower)
    await secondary.caughtUp(a, 'dr')
    expect(secondary.follower.primaryAddress).toBe(`https://${next.listener.address}`)
  })
})

describe('calls over a replication link', () => {
  test('a forwarded request returns its response, and fails without a primary', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('performance', a, b)
    await secondary.caughtUp(a, 'performance')
    expect((await secondary.follower.forward(Buffer.from('write'))).payload.toString()).toBe('s sent write')
    await primary.stop()
    await until(() => secondary.follower.connectionState !== 'ready')
    await expect(secondary.follower.forward(Buffer.from('write'))).rejects.toThrow('primary cluster is unreachable')
    expect(primary.forwarded).toEqual(['write'])
  })

  test('bootstrap returns the key material, or an error with the reason', async () => {
    const { set, primary } = await startPrimary()
    const options = {
      addresses: ['127.0.0.1:1', primary.listener.address],
      times: TIMES,
      who: primary.who,
      transport: transportOver(systemNetwork),
      clock: systemClock,
      credentials: await set.credentials('cn-c'),
      signal: new AbortController().signal,
    }
    await expect(fetchBootstrap(options)).rejects.toThrow(
      'error fetching secondary bootstrap package: secondary "c" is not registered',
    )
    primary.registered.add('c')
    const late = new AbortController()
    primary.beforeBootstrapAnswer = async () => late.abort(new LogicalError('unavailable', 'no answer within 1 ms'))
    await expect(fetchBootstrap({ ...options, signal: late.signal })).rejects.toThrow(
      'package: no answer within 1 ms; the primary may have registered this cluster: revoke the secondary ID there before you create',
    )
    primary.beforeBootstrapAnswer = async () => undefined
    const { package: material, address } = await fetchBootstrap(options)
    expect(address).toBe(primary.listener.address)
    expect(material.rootKey.toString()).toBe('root')
    expect(material.records).toEqual([{ key: 'core/keyring', value: Buffer.from('ring') }])
  })
})
