import { afterAll, beforeAll } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { createSystemRandom } from '../../src/base/random.js'
import { EtcdSharedLog } from '../../src/storage/shared-log/etcd/etcd-shared-log.js'
import { describeSharedLog } from '../conformance/shared-log-suite.js'
import { EtcdProcess } from '../support/etcd.js'
import type { Link } from '../../src/lab/proxy/link.js'
import { openLink } from '../support/open-link.js'
import { FrozenClock } from '../support/frozen-clock.js'

let etcd: EtcdProcess
let fixtures = 0

beforeAll(async () => {
  etcd = await EtcdProcess.prepare('http')
  await etcd.run()
})

afterAll(() => etcd.destroy())

describeSharedLog('etcd', async ({ entriesMax }) => {
  const prefix = `/fixture-${fixtures++}/`
  const links: Link[] = []
  const logs: EtcdSharedLog[] = []
  return {
    async connect() {
      const clock = new FrozenClock(systemClock)
      const link = await openLink(etcd.port)
      const log = await EtcdSharedLog.open(
        {
          clock,
          random: createSystemRandom(),
          log: silentLog,
          addresses: [`127.0.0.1:${link.port}`],
          requestTimeoutMs: 500,
          prefix,
          leaseMs: 4000,
          bounds: entriesMax === undefined ? {} : { entriesFolded: entriesMax },
        },
        new AbortController().signal,
      )
      links.push(link)
      logs.push(log)
      return {
        log,
        cut: () => link.hold(),
        loseAnswers: () => link.hold('down'),
        heal: () => link.release(),
        freeze: () => clock.freeze(),
        thaw: () => clock.thaw(),
      }
    },
    whenDone: (promise) => promise,
    async destroy() {
      for (const link of links) link.release()
      await Promise.all(logs.map((log) => log.close()))
      for (const link of links) await link.close()
    },
  }
})
