import { once } from 'node:events'
import tls from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { parseHostPort, systemNetwork } from '../../../src/base/network.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { connectPrimary } from '../../../src/replication/rpc/primary-connection.js'
import { fetchBootstrap } from '../../../src/replication/secondary/bootstrap.js'
import { toPeerMessage } from '../../../src/replication/rpc/peer-identity.js'
import type { PrimaryCredentials } from '../../../src/replication/types.js'
import {
  CuttableNetwork,
  FreezableNetwork,
  openStore,
  pair,
  put,
  stopAll,
  stopLater,
  TestFollower,
  TestPrimary,
  TestSet,
  TIMES,
} from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

const connect = (address: string, credentials: PrimaryCredentials) =>
  connectPrimary([address], {
    network: systemNetwork,
    clock: systemClock,
    credentials,
    times: TIMES,
    signal: new AbortController().signal,
  })

const startPrimary = async () => {
  const set = await TestSet.create()
  const store = await openStore()
  const primary = stopLater(await TestPrimary.start({ kind: 'dr', store, set }))
  return { set, store, primary }
}

describe('the cluster port', () => {
  test('lets in a certificate of its own authority and tells who it is', async () => {
    const { set, primary } = await startPrimary()
    primary.registered.add('c')
    const connection = await connect(primary.listener.address, await set.credentials('cn-c'))
    const reply = await connection.ping({ who: toPeerMessage(primary.who) }, {})
    expect(reply.who?.cluster_id).toBe('primary')
    connection.close()
  })

  test('refuses a certificate of another authority, and a server that is another one', async () => {
    const { set, primary } = await startPrimary()
    const other = await TestSet.create()
    const foreign = await other.credentials('cn-c')
    const own = await set.credentials('cn-c')
    await expect(connect(primary.listener.address, foreign)).rejects.toThrow()
    const mixed = { ...own, certificate: foreign.certificate, privateKey: foreign.privateKey }
    await expect(connect(primary.listener.address, mixed)).rejects.toThrow()
    await expect(connect(primary.listener.address, { ...own, caCertificate: foreign.caCertificate })).rejects.toThrow()
    await expect(connect(primary.listener.address, { ...own, serverName: other.identity.serverName })).rejects.toThrow()
  })

  test('refuses a caller without a certificate and one without a server name', async () => {
    const { set, primary } = await startPrimary()
    const own = await set.credentials('cn-c')
    await expect(connect(primary.listener.address, { ...own, serverName: '' })).rejects.toThrow()
    const { certificate: _c, privateKey: _k, ...bare } = own
    await expect(connect(primary.listener.address, bare as PrimaryCredentials)).rejects.toThrow()
  })

  test('refuses a certificate of an impostor with the same name', async () => {
    const { set, primary } = await startPrimary()
    primary.registered.add('c')
    const impostor = await TestSet.create(set.identity.serverName)
    const forged = { ...(await impostor.credentials('cn-c')), caCertificate: set.identity.certificate }
    await expect(connect(primary.listener.address, forged)).rejects.toThrow()
  })

  test('lets nobody in again by an earlier session without a certificate', async () => {
    const { set, primary } = await startPrimary()
    const { host, port } = parseHostPort(primary.listener.address)
    const own = await set.credentials('cn-c')
    const common = { host, port, servername: own.serverName, ca: own.caCertificate, ALPNProtocols: ['h2'] }
    const sessions: Buffer[] = []
    const first = tls.connect({ ...common, cert: own.certificate, key: own.privateKey })
    first.on('session', (session) => sessions.push(session))
    // The server's first HTTP/2 frame comes behind whatever could be resumed.
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

  test('keeps two kinds apart behind one port, and serves no name that was withdrawn', async () => {
    const { set, primary, store } = await startPrimary()
    const other = await TestSet.create()
    const performance = await TestPrimary.start({ kind: 'performance', store, set: other, listener: primary.listener })
    performance.registered.add('p')
    primary.registered.add('d')
    const p = await connect(primary.listener.address, await other.credentials('cn-p'))
    const d = await connect(primary.listener.address, await set.credentials('cn-d'))
    await p.ping({ who: toPeerMessage(primary.who) }, {})
    // The certificate of one kind, shown under the name of the other.
    const crossed = { ...(await other.credentials('cn-d')), serverName: set.identity.serverName }
    await expect(
      connect(primary.listener.address, { ...crossed, caCertificate: set.identity.certificate }),
    ).rejects.toThrow()
    primary.listener.withdraw(other.identity.serverName)
    await until(() => p.lost.aborted)
    await d.ping({ who: toPeerMessage(primary.who) }, {})
    await expect(connect(primary.listener.address, await other.credentials('cn-p'))).rejects.toThrow()
    d.close()
  })

  test('an address that accepts and then says nothing costs no more than the connect timeout', async () => {
    const { set } = await startPrimary()
    const mute = await systemNetwork.listen('127.0.0.1:0', () => undefined)
    const attempt = connectPrimary([mute.address], {
      network: systemNetwork,
      clock: systemClock,
      credentials: await set.credentials('cn-c'),
      times: { ...TIMES, connectTimeoutMs: 50 },
      signal: new AbortController().signal,
    })
    await expect(attempt).rejects.toThrow('within')
    await mute.close()
  })
})

describe('a link', () => {
  test('that is cut is made again, and writes made meanwhile arrive', async () => {
    const network = new CuttableNetwork()
    const [a, b] = [await openStore(), await openStore()]
    const { secondary } = await pair('dr', a, b, { network })
    for (let round = 0; round < 5; round++) {
      await put(a, `logical/x/${round}`, 'x')
      await secondary.caughtUp(a, 'dr')
      network.cut()
      await until(() => secondary.follower.connectionState !== 'ready')
    }
    await secondary.caughtUp(a, 'dr')
    expect(network.dials).toBeLessThan(30)
  })

  test('carries heartbeats that both sides show', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b)
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

  test('shows a stopped primary as gone at once, and its own last addresses', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b)
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

  test('that is frozen is noticed on both sides by keepalive', async () => {
    const network = new FreezableNetwork()
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('dr', a, b, { network })
    await secondary.caughtUp(a, 'dr')
    network.freeze()
    await until(() => secondary.follower.connectionState !== 'ready')
    await until(() => primary.server.registry.find('s')?.isConnected === false)
    network.thaw()
    await put(a, 'logical/x/after', 'x')
    await secondary.caughtUp(a, 'dr')
  })

  test('goes over to the first address that answers for our set', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { set, primary, secondary } = await pair('dr', a, b)
    await secondary.caughtUp(a, 'dr')
    const moved = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set }))
    moved.registered.add('s')
    const stranger = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set: await TestSet.create() }))
    await expect(secondary.follower.updateAddresses([stranger.listener.address])).rejects.toThrow(
      stranger.listener.address,
    )
    expect(secondary.follower.primaryAddress).toBe(`https://${primary.listener.address}`)
    await secondary.follower.updateAddresses([stranger.listener.address, moved.listener.address])
    expect(secondary.follower.primaryAddress).toBe(`https://${moved.listener.address}`)
    await until(() => moved.server.registry.find('s')?.isConnected === true)
    await put(a, 'logical/x/after', 'x')
    await secondary.caughtUp(a, 'dr')
  })

  test('tries the other known addresses when the first refuses', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const set = await TestSet.create()
    const old = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set }))
    const next = stopLater(await TestPrimary.start({ kind: 'dr', store: a, set }))
    old.admission = () => ({ ok: false, code: 'epoch', text: 'fenced' })
    next.registered.add('s')
    const addresses = [old.listener.address, next.listener.address]
    const secondary = await TestFollower.start({ kind: 'dr', store: b, set, id: 's', primary: old, addresses })
    stopLater(secondary.follower)
    await secondary.caughtUp(a, 'dr')
    expect(secondary.follower.primaryAddress).toBe(`https://${next.listener.address}`)
  })
})

describe('calls', () => {
  test('forward a request and bring its answer', async () => {
    const [a, b] = [await openStore(), await openStore()]
    const { primary, secondary } = await pair('performance', a, b)
    await secondary.caughtUp(a, 'performance')
    expect((await secondary.follower.forward(Buffer.from('write'))).payload.toString()).toBe('s sent write')
    await primary.stop()
    await until(() => secondary.follower.connectionState !== 'ready')
    await expect(secondary.follower.forward(Buffer.from('write'))).rejects.toThrow('primary cluster is unreachable')
    expect(primary.forwarded).toEqual(['write'])
  })

  test('bootstrap hands over the key material, or says why not', async () => {
    const { set, primary } = await startPrimary()
    const options = {
      addresses: ['127.0.0.1:1', primary.listener.address],
      times: TIMES,
      who: primary.who,
      network: systemNetwork,
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
      'package: no answer within 1 ms; it may have registered this cluster: revoke its id there before a new token',
    )
    primary.beforeBootstrapAnswer = async () => undefined
    const { package: material, address } = await fetchBootstrap(options)
    expect(address).toBe(primary.listener.address)
    expect(material.rootKey.toString()).toBe('root')
    expect(material.records).toEqual([{ key: 'core/keyring', value: Buffer.from('ring') }])
  })
})
