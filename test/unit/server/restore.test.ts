import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { silentLog } from '../../../src/base/log.js'
import { ManualClock } from '../../support/manual-clock.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { prepareRestored } from '../../../src/server/wiring/snapshots.js'
import type { ServerConfig } from '../../../src/server/config/config.js'
import { dataKey } from '../../../src/storage/keys/raw-keys.js'
import { writeSnapshot } from '../../../src/storage/store/snapshot-file.js'
import { MemoryDisk, MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import { GatedEngine } from '../storage/fixture.js'

const OWN = {
  syncWrites: true,
  walRetentionEntries: 1000,
  walRetentionBytes: 1 << 20,
  shipWindowBytes: 1 << 20,
} as ServerConfig['own']

test('the local data of a cluster is restored at any size, in transactions of limited size', async () => {
  const value = Buffer.alloc(1 << 20, 7)
  const count = LIMITS.transactionBytesMax / value.length + 10
  const kept = Array.from({ length: count }, (_, n) => ({ key: `core/losses/1/frames/${n}`, value }))
  const pieces: Buffer[] = []
  const meta = { clusterId: 'id', clusterName: 'A', index: 1 }
  const entries = (async function* () {
    yield [{ key: 'logical/a', value: Buffer.from('1') }]
  })()
  for await (const piece of writeSnapshot({ meta, entries, seal: (sums) => sums, timeMs: 0 })) pieces.push(piece)
  const engine = new GatedEngine(new MemoryEngine(new MemoryDisk()))
  await prepareRestored(engine, {
    config: { own: OWN } as ServerConfig,
    clock: new ManualClock(),
    random: createSeededRandom('restore'),
    log: silentLog,
    file: Buffer.concat(pieces),
    rootKey: undefined,
    kept,
    beginAt: () => ({ index: 5, epoch: 'e' }),
  })
  for (const { key } of kept) expect(engine.get(dataKey(key))?.equals(value), key).toBe(true)
  const perTransaction = LIMITS.commitBytesMax / value.length
  expect(engine.batches.length).toBeGreaterThanOrEqual(count / perTransaction)
  expect(engine.durable.every((isDurable) => isDurable)).toBe(true)
})
