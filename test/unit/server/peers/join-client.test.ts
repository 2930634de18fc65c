import { expect, it } from 'vitest'
import { silentLog } from '../../../../src/base/log.js'
import { ManualClock } from '../../../support/manual-clock.js'
import { systemNetwork } from '../../../../src/base/network.js'
import { createSeededRandom } from '../../../../src/base/random.js'
import { LogicalError } from '../../../../src/logical/errors.js'
import { JoinClient } from '../../../../src/server/peers/join-client.js'
import { atEachAddress } from '../../../../src/server/peers/leader-api.js'
import { PeersContext, type PeersHost } from '../../../../src/server/peers/peers-context.js'
import type { ServerConfig } from '../../../../src/server/config/config.js'
import { until } from '../../../support/until.js'

const LEADER = { address: 'http://127.0.0.1:9', caPem: '', clientCertPem: '', clientKeyPem: '', serverName: '' }

it('a joining server retries during a restart of its server, and ends after the server has a cluster', async () => {
  const clock = new ManualClock()
  const looks: string[] = []
  const attempts: string[] = []
  let state: 'empty' | 'restarting' | 'initialized' = 'empty'
  const requireRuntime = () => {
    looks.push(state)
    if (state === 'restarting') throw new LogicalError('unavailable', 'cluster is restarting')
    return { seal: { isInitialized: state === 'initialized' } }
  }
  const context = new PeersContext(
    {
      config: { own: { etcdPath: '/nowhere/etcd' } } as ServerConfig,
      directory: '/nowhere',
      clock,
      random: createSeededRandom(1),
      network: systemNetwork,
      log: { ...silentLog, info: (text) => void attempts.push(text) },
    },
    () => undefined,
  )
  context.known = { host: { requireRuntime } } as unknown as PeersHost
  const joinClient = new JoinClient(context, async () => undefined)
  const waits = async (isThere: () => boolean) =>
    until(() => {
      clock.advance(1000)
      return isThere()
    })
  joinClient.keepJoining([() => LEADER])
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

it('a join tries every address of a host name, each with the name in its certificate', async () => {
  const dialled: string[] = []
  const context = new PeersContext(
    {
      config: { own: { etcdPath: process.execPath }, storage: { nodeId: 'n' } } as ServerConfig,
      directory: '/nowhere',
      clock: new ManualClock(),
      random: createSeededRandom(1),
      network: {
        ...systemNetwork,
        resolve: async (host) => (host === 'nodes.test' ? ['127.0.0.1', '127.0.0.2', '::1'] : []),
        dial: async (address) => {
          dialled.push(address)
          throw new Error('nothing listens there')
        },
      },
      log: silentLog,
    },
    () => undefined,
  )
  const requireRuntime = () => ({ seal: { isInitialized: false, keys: {} } })
  context.known = { host: { requireRuntime } } as unknown as PeersHost
  const joinClient = new JoinClient(context, async () => undefined)
  joinClient.keepJoining([() => ({ ...LEADER, address: 'http://nodes.test:8200' }), () => LEADER])
  await until(() => dialled.length >= 4)
  expect(dialled).toEqual(['127.0.0.1:8200', '127.0.0.2:8200', '[::1]:8200', '127.0.0.1:9'])
  context.stop()
  const found = await atEachAddress(
    { ...LEADER, address: 'https://nodes.test:8200' },
    {
      ...systemNetwork,
      resolve: async () => ['10.0.0.1', '10.0.0.2'],
    },
  )
  expect(found).toMatchObject([
    { address: 'https://10.0.0.1:8200', serverName: 'nodes.test' },
    { address: 'https://10.0.0.2:8200', serverName: 'nodes.test' },
  ])
})
