import { expect, it } from 'vitest'
import { createSeededRandom } from '../../../../src/base/random.js'
import { createCa } from '../../../../src/replication/credentials/ca.js'
import type { ClusterPort } from '../../../../src/replication/rpc/transport.js'
import { encodeRecord, type KindRecord, recordKey } from '../../../../src/replication/model/state.js'
import type { Runtime } from '../../../../src/server/runtime/runtime.js'
import { StandbyPort } from '../../../../src/server/nodes/relay-service.js'
import { MemoryStorage } from '../../../support/memory-storage.js'
import { silentLog } from '../../../../src/base/log.js'

const random = createSeededRandom('standby-port')
const epochs = { ids: [], spans: [] } as never

const primary = async (): Promise<KindRecord & { readonly mode: 'primary' }> => ({
  ...{ mode: 'primary', setId: 'set', epochs, primaryClusterAddr: '', registrations: [] },
  ca: await createCa(random, Date.now()),
})

const secondary: KindRecord = {
  ...{ mode: 'secondary', setId: 'set', epochs, secondaryId: 'b', hasFollowed: true, incarnation: 0 },
}

/** Returns the names under which the standby of a cluster with these roles answers. */
const servedWith = async (dr: KindRecord, performance: KindRecord): Promise<readonly string[]> => {
  const storage = new MemoryStorage()
  for (const [kind, record] of Object.entries({ dr, performance }) as ['dr' | 'performance', KindRecord][])
    await storage.write((tx) => tx.put(recordKey(kind), encodeRecord(record)))
  const names: string[] = []
  const port = { serve: ({ serverName }) => void names.push(serverName) } satisfies Partial<ClusterPort> as unknown
  const store = { onChange: () => () => undefined }
  const standby = new StandbyPort({
    port: port as ClusterPort,
    following: () => ({ store, barrier: { isSealed: false, view: () => storage } }) as unknown as Runtime,
    activeNode: () => undefined,
    log: silentLog,
  })
  standby.update()
  return names
}

it("a standby answers under the names of its cluster's primary roles", async () => {
  const [dr, performance] = [await primary(), await primary()]
  expect(await servedWith(dr, performance)).toEqual([dr.ca.name, performance.ca.name])
})

it('a standby of a DR secondary does not answer under the name of its inactive primary role', async () => {
  expect(await servedWith(secondary, await primary())).toEqual([])
})
