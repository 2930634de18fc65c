import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/clock.js'
import { createSeededRandom } from '../../../../src/base/random.js'
import type { ClusterTransport, PrimaryConnection } from '../../../../src/replication/rpc/transport.js'
import type { ReplicationTimes } from '../../../../src/replication/types.js'
import { ActiveLink } from '../../../../src/server/nodes/active-link.js'
import { ensureAuthority } from '../../../../src/server/nodes/node-authority.js'
import { MemoryStorage } from '../../../support/memory-storage.js'

test('a certificate that could not be made is made anew for the next call', async () => {
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
  const transport: Pick<ClusterTransport, 'connect'> = {
    connect: async (address, { credentials }) => {
      shown.push(`${address} ${credentials.serverName}`)
      return connection as PrimaryConnection
    },
  }
  const link = new ActiveLink({
    transport: transport as ClusterTransport,
    times: {} as ReplicationTimes,
    authority: () => authority,
    clock: systemClock,
    random: failing,
    certificateKeys: undefined,
  })
  await expect(link.connect('a:1')).rejects.toThrow('no chance')
  await expect(link.connect('a:1')).resolves.toBe(connection)
  await expect(link.connect('b:1')).resolves.toBe(connection)
  expect(shown).toEqual([`a:1 ${authority.identity.serverName}`, `b:1 ${authority.identity.serverName}`])
  link.close()
})
