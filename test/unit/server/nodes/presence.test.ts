import { expect, it } from 'vitest'
import { systemClock } from '../../../../src/base/clock.js'
import { silentLog } from '../../../../src/base/log.js'
import { Presence } from '../../../../src/server/nodes/presence.js'
import { MemoryLog } from '../../../../src/storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../../../src/storage/shared-log/memory-shared-log.js'
import type { NodeRecord } from '../../../../src/storage/shared-log/shared-log.js'
import { until } from '../../../support/until.js'

class CountingLog extends MemorySharedLog {
  asked = 0

  override announce(record: NodeRecord): Promise<void> {
    this.asked += 1
    return super.announce(record)
  }
}

const SELF = { id: 'a', hostname: 'a', apiAddress: 'http://a', clusterAddress: 'https://a', version: '1' }
const openAt = (appliedIndex: number) => ({ seal: { isSealed: false }, appliedIndex }) as never

it('presence sends one request while the shared log does not respond, and reports its state afterwards', async () => {
  const memory = new MemoryLog({ clock: systemClock, leaseMs: 60_000 })
  const sharedLog = new CountingLog(memory, systemClock)
  const presence = new Presence({ sharedLog, self: SELF, onEcho: () => undefined, clock: systemClock, log: silentLog })
  sharedLog.link.cut()
  const told = Array.from({ length: 50 }, (_, index) => presence.announce(openAt(index)))
  expect(sharedLog.asked).toBe(1)
  sharedLog.link.heal()
  await Promise.all(told)
  expect(sharedLog.asked).toBe(2)
  await until(() => memory.nodes.length === 1)
  expect(memory.nodes).toMatchObject([{ ...SELF, appliedIndex: 49, isSealed: false }])
  presence.end()
  await sharedLog.close()
})
