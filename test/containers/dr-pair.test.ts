import { GenericContainer, Network, type StartedNetwork, type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiClient } from '../../src/client/api-client.js'
import { systemClock } from '../../src/base/clock.js'
import { proveReplication } from '../../src/lab/wiring/proof.js'
import { wireClusters } from '../../src/lab/attach/wiring.js'
import { findTopology } from '../../src/lab/topology/catalogue.js'
import { IMAGE } from './image.js'

/** A DR pair of containers with one network and mapped ports, as tests of other projects start it. */

const TIMEOUT_MS = 60_000

const configOf = (name: string) => ({
  listener: { tcp: { address: '0.0.0.0:8200', tls_disable: true } },
  storage: { raft: { path: '/vault/file', node_id: name } },
  api_addr: `http://${name}:8200`,
  cluster_addr: `https://${name}:8201`,
})

const start = (network: StartedNetwork, name: string): Promise<StartedTestContainer> =>
  new GenericContainer(IMAGE)
    .withNetwork(network)
    .withNetworkAliases(name)
    .withEnvironment({ VAULT_LOCAL_CONFIG: JSON.stringify(configOf(name)) })
    .withCommand(['server'])
    .withExposedPorts(8200)
    .withWaitStrategy(Wait.forHealthCheck())
    .withStartupTimeout(TIMEOUT_MS)
    .start()

describe('containers of the image', () => {
  let network: StartedNetwork
  const containers = new Map<string, StartedTestContainer>()

  beforeAll(async () => {
    network = await new Network().start()
    for (const name of ['a', 'b']) containers.set(name.toUpperCase(), await start(network, name))
  })

  afterAll(async () => {
    for (const container of containers.values()) await container.stop({ timeout: 20_000 })
    await network?.stop()
  })

  const addressOf = (name: string): string => {
    const container = containers.get(name)
    return `http://${container?.getHost()}:${container?.getMappedPort(8200)}`
  }

  it('a container of the image is healthy before it is initialized', async () => {
    expect((await new ApiClient({ address: addressOf('A') }).send('GET', 'sys/health')).status).toBe(501)
  })

  it('containers of the image make a DR pair that replicates', async () => {
    const topology = findTopology('dr')
    if (!topology) throw new Error('there is no topology "dr"')
    const addresses = new Map(topology.clusters.map((name) => [name, addressOf(name)]))
    const { wired } = await wireClusters(topology, addresses, undefined, {
      shares: 3,
      threshold: 2,
      timeoutMs: TIMEOUT_MS,
      clock: systemClock,
      onKeep: () => undefined,
    })
    const [sentence] = await proveReplication(wired, { clock: systemClock, timeoutMs: TIMEOUT_MS })
    expect(sentence).toContain('B (DR) holds the same data as A')
  })

  it('the image contains the program as vault and as understudy', async () => {
    const container = containers.get('A')
    for (const command of ['vault', 'understudy']) {
      const { exitCode, output } = (await container?.exec([command, 'version'])) ?? {}
      expect(exitCode, output).toBe(0)
    }
  })
})
