import { afterAll, beforeAll } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { createSystemRandom } from '../../src/base/random.js'
import { EtcdSharedLog } from '../../src/storage/commit-log/etcd/etcd-shared-log.js'
import { describeSharedLog } from '../conformance/shared-log-suite.js'
import { EtcdProcess } from '../support/etcd.js'
import { HeldWay } from '../support/held-way.js'
import { FrozenClock } from '../support/frozen-clock.js'

let etcd: EtcdProcess
let homes = 0

beforeAll(async () => {
  etcd = await EtcdProcess.start()
})

afterAll(() => etcd.destroy())

describeSharedLog('etcd', async ({ entriesMax }) => {
  const prefix = `/home-${homes++}/`
  const ways: HeldWay[] = []
  const logs: EtcdSharedLog[] = []
  return {
    async connect() {
      const clock = new FrozenClock(systemClock)
      const way = await HeldWay.to(etcd.port)
      const log = await EtcdSharedLog.open(
        {
          clock,
          random: createSystemRandom(),
          log: silentLog,
          addresses: [`127.0.0.1:${way.port}`],
          requestTimeoutMs: 500,
          prefix,
          leaseMs: 4000,
          bounds: entriesMax === undefined ? {} : { entriesFolded: entriesMax },
        },
        new AbortController().signal,
      )
      ways.push(way)
      logs.push(log)
      return {
        log,
        cut: () => way.hold({ asks: true, answers: true }),
        loseAnswers: () => way.hold({ asks: false, answers: true }),
        heal: () => way.hold({ asks: false, answers: false }),
        freeze: () => clock.freeze(),
        thaw: () => clock.thaw(),
      }
    },
    whenDone: (promise) => promise,
    async destroy() {
      for (const way of ways) way.hold({ asks: false, answers: false })
      await Promise.all(logs.map((log) => log.close()))
      for (const way of ways) way.close()
    },
  }
})
