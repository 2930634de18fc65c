import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.js'
import { createSystemRandom } from '../../../src/base/random.js'
import { randomSinglePorts } from '../../../src/lab/model/ports.js'
import { EtcdConnection } from '../../../src/storage/shared-log/etcd/etcd-connection.js'
import { EtcdLayout } from '../../../src/storage/shared-log/etcd/etcd-layout.js'
import { EtcdWatcher } from '../../../src/storage/shared-log/etcd/etcd-watcher.js'
import { until } from '../../support/until.js'

it('one request at a time is pending while no etcd responds', async () => {
  const [port = 0] = await randomSinglePorts(1)
  const connection = new EtcdConnection({
    clock: systemClock,
    random: createSystemRandom(),
    addresses: [`127.0.0.1:${port}`],
    requestTimeoutMs: 500,
  })
  let polls = 0
  const clock: Clock = {
    ...systemClock,
    setRepeating: (ms, fn) =>
      systemClock.setRepeating(ms, () => {
        polls += 1
        fn()
      }),
  }
  const news = new EtcdWatcher({ connection, layout: new EtcdLayout('/away/'), clock, pollMs: 1 })
  await until(() => polls > 50)
  expect(getEventListeners(connection.ended, 'abort').length).toBeLessThanOrEqual(1)
  news.stop()
  connection.close()
})
