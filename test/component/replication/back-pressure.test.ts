import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, test } from 'vitest'
import { openDiskStore, openStore, pair, put, stopAll } from '../../support/replication-fixture.js'
import { until } from '../../support/until.js'

afterEach(stopAll)

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Returns the bytes of objects and buffers of this process. */
const heldBytes = (): number => {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const MIB = 1024 * 1024
const WRITES = 800
const VALUE_BYTES = 64 * 1024
const AT_ONCE = 8
const RING_BYTES = 2 * MIB

/** The limit includes data in flight. The topology tier measures real servers. */
const EXTRA_BYTES_MAX = 32 * MIB

test('50 MiB written while a secondary does not read use less than 32 MiB of memory, and arrive afterwards', async () => {
  const a = await openDiskStore({ ringBytes: RING_BYTES })
  const b = await openStore(undefined, { ringBytes: RING_BYTES, walRetentionEntries: 16 })
  let release = (): void => undefined
  let isHeld = false
  const { secondary } = await pair('dr', a, b, {
    prepare: (follower) => {
      follower.onState = async (state, signal) => {
        if (state !== 'apply' || isHeld) return
        isHeld = true
        await new Promise<void>((resolve, reject) => {
          release = resolve
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      }
    },
  })
  await secondary.caughtUp(a, 'dr')
  await put(a, 'logical/x/first', 'x')
  await until(() => isHeld)
  const before = heldBytes()
  for (let i = 0; i < WRITES; i += AT_ONCE) {
    const values = Array.from({ length: AT_ONCE }, (_, at) => Buffer.alloc(VALUE_BYTES, i + at))
    await Promise.all(values.map((value, at) => put(a, `logical/x/${at}`, value)))
  }
  // Memory of buffers is released some time after their collection.
  await until(() => heldBytes() - before < EXTRA_BYTES_MAX)
  // Heartbeats continue while the stream waits.
  const beat = secondary.follower.primary?.lastHeartbeatMs ?? 0
  await until(() => (secondary.follower.primary?.lastHeartbeatMs ?? 0) > beat)
  release()
  await secondary.caughtUp(a, 'dr')
})
