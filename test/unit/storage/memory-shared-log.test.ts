import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { nextTurn } from '../../../src/base/turn.js'
import { MemoryLog } from '../../../src/storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../../src/storage/shared-log/memory-shared-log.js'
import { LOG_START } from '../../../src/storage/shared-log/raw-batch.js'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Follows the log and is disconnected like a killed process: no pending call ever ends. */
const followAndDie = async (): Promise<WeakRef<MemoryLog>> => {
  const log = new MemoryLog({ clock: new ManualClock(), leaseMs: 1_000 })
  const shared = new MemorySharedLog(log, log.clock)
  void shared.follow(LOG_START, new AbortController().signal).next()
  void shared.campaign({ nodeId: 'a', apiAddress: '', clusterAddress: '' }, new AbortController().signal)
  await nextTurn()
  shared.link.cut()
  return new WeakRef(log)
}

it('an unreferenced memory log is collected', async () => {
  const log = await followAndDie()
  await nextTurn()
  collect()
  expect(log.deref()).toBeUndefined()
})
