import { ManualClock } from '../support/manual-clock.js'
import { MemoryLog } from '../../src/storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../src/storage/shared-log/memory-shared-log.js'
import { FrozenClock } from '../support/frozen-clock.js'
import { describeSharedLog } from './shared-log-suite.js'

const LEASE_MS = 2000

describeSharedLog('memory', async ({ entriesMax }) => {
  const clock = new ManualClock()
  const log = new MemoryLog({ clock, leaseMs: LEASE_MS, ...(entriesMax === undefined ? {} : { entriesMax }) })
  const logs: MemorySharedLog[] = []
  return {
    async connect() {
      const own = new FrozenClock(clock)
      const shared = new MemorySharedLog(log, own)
      logs.push(shared)
      return {
        log: shared,
        cut: () => shared.link.cut(),
        loseAnswers: () => shared.link.loseAnswers(),
        heal: () => shared.link.heal(),
        freeze: () => own.freeze(),
        thaw: () => own.thaw(),
      }
    },
    async whenDone(promise) {
      let isDone = false
      promise.then(
        () => (isDone = true),
        () => (isDone = true),
      )
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        if (isDone) return promise
        clock.advance(LEASE_MS / 20)
      }
    },
    async destroy() {
      for (const shared of logs) shared.crash()
    },
  }
})
