import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/clock.js'
import { createSeededRandom, type Random } from '../../../../src/base/random.js'
import type { ClusterTransport, PrimaryConnection } from '../../../../src/replication/rpc/transport.js'
import type { ReplicationTimes } from '../../../../src/replication/model/types.js'
import { ActiveLink, ensureAuthority, type NodeAuthority } from '../../../../src/server/nodes/node-authority.js'
import { MemoryStorage } from '../../../support/memory-storage.js'

const at = (clusterAddress: string, term = 1) => ({ clusterAddress, term })

const linkOver = (connect: ClusterTransport['connect'], authority: NodeAuthority, random: Random) =>
  new ActiveLink({
    transport: { connect } as ClusterTransport,
    times: {} as ReplicationTimes,
    authority: () => authority,
    clock: systemClock,
    random,
    certificateKeys: undefined,
  })

test('a certificate whose creation failed is created again for the next call', async () => {
  const random = createSeededRandom('link')
  const authority = await ensureAuthority(new MemoryStorage(), random, systemClock.now())
  let failures = 1
  const failing = {
    ...random,
    bytes: (count: number) => {
      if (failures-- > 0) throw new Error('no chance')
      return random.bytes(count)
    },
  }
  const shown: string[] = []
  const connection = { lost: new AbortController().signal, close: () => undefined } as Partial<PrimaryConnection>
  const connect: ClusterTransport['connect'] = async (address, { credentials }) => {
    shown.push(`${address} ${credentials.serverName}`)
    return connection as PrimaryConnection
  }
  const link = linkOver(connect, authority, failing)
  await expect(link.connect(at('a:1'))).rejects.toThrow('no chance')
  await expect(link.connect(at('a:1'))).resolves.toBe(connection)
  await expect(link.connect(at('b:1', 2))).resolves.toBe(connection)
  expect(shown).toEqual([`a:1 ${authority.identity.serverName}`, `b:1 ${authority.identity.serverName}`])
  link.close()
})

test('a connection lasts for one term of the active node', async () => {
  const random = createSeededRandom('terms')
  const authority = await ensureAuthority(new MemoryStorage(), random, systemClock.now())
  const closed: number[] = []
  let dials = 0
  const connect: ClusterTransport['connect'] = async () => {
    const dial = ++dials
    const lost = new AbortController().signal
    const connection: Partial<PrimaryConnection> = { lost, close: () => void closed.push(dial) }
    return connection as PrimaryConnection
  }
  const link = linkOver(connect, authority, random)
  const first = await link.connect(at('a:1', 1))
  expect(await link.connect(at('a:1', 1))).toBe(first)
  // It lost its role, and was elected again before any peer noticed.
  expect(await link.connect(at('a:1', 3))).not.toBe(first)
  expect([dials, closed]).toEqual([2, [1]])
  link.close()
})
