import { expect, it } from 'vitest'
import { silentLog } from '../../../../src/base/log.js'
import { ManualClock } from '../../../../src/base/manual-clock.js'
import { systemNetwork } from '../../../../src/base/network.js'
import { createSeededRandom } from '../../../../src/base/random.js'
import { LogicalError } from '../../../../src/logical/errors.js'
import { Joiner } from '../../../../src/server/peers/joiner.js'
import type { PeersHost } from '../../../../src/server/peers/peers-options.js'
import type { ServerConfig } from '../../../../src/server/config/config.js'
import { until } from '../../../support/until.js'

const LEADER = { address: 'http://127.0.0.1:9', caPem: '', clientCertPem: '', clientKeyPem: '', serverName: '' }

it('the joiner retries during a restart of its server, and ends after the server has a cluster', async () => {
  const clock = new ManualClock()
  const looks: string[] = []
  const attempts: string[] = []
  let state: 'empty' | 'restarting' | 'initialized' = 'empty'
  const requireRuntime = () => {
    looks.push(state)
    if (state === 'restarting') throw new LogicalError('unavailable', 'cluster is restarting')
    return { seal: { isInitialized: state === 'initialized' } }
  }
  const joiner = new Joiner({
    config: { own: { etcdPath: '/nowhere/etcd' } } as ServerConfig,
    directory: '/nowhere',
    clock,
    random: createSeededRandom(1),
    network: systemNetwork,
    log: { ...silentLog, info: (text) => void attempts.push(text) },
    signal: new AbortController().signal,
    host: () => ({ requireRuntime }) as unknown as PeersHost,
    enter: async () => undefined,
  })
  const waits = async (isThere: () => boolean) =>
    until(() => {
      clock.advance(1000)
      return isThere()
    })
  joiner.keepJoining([() => LEADER])
  await until(() => attempts.length > 0)
  state = 'restarting'
  await waits(() => looks.filter((look) => look === 'restarting').length > 1)
  state = 'initialized'
  await waits(() => looks.includes('initialized'))
  const { length } = looks
  clock.advance(60_000)
  await Promise.resolve()
  expect(looks).toHaveLength(length)
})
