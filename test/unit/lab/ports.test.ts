import { expect, it, onTestFinished, vi } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { portChoice } from '../../../src/cli/commands/lab/options.js'
import { thisHost } from '../../../src/lab/processes/lab-host.js'
import { planLab } from '../../../src/lab/lifecycle/plan.js'
import { randomPorts, randomRange, randomSinglePorts } from '../../../src/lab/model/ports.js'
import { formerPortsOf, type LabImage } from '../../../src/lab/snapshot/manifest.js'
import { requireTopology } from '../../../src/lab/topology/catalogue.js'

/** The same seed draws the same ports, unless one of them is in use. */
const draw = (given?: ReadonlySet<number>) => randomSinglePorts(4, given, createSeededRandom('ports'))

it('no chosen port is reserved by a server that does not listen yet', async () => {
  const [first = 0, second = 0, third = 0] = await draw()
  expect(new Set([first, second, third]).size).toBe(3)
  for (const given of [first, second, third]) expect(await draw(new Set([given]))).not.toContain(given)
})

it('each cluster gets two ports', async () => {
  const clusters = ['A', 'B', 'C', 'D', 'E', 'F']
  const ports = await randomPorts(clusters, undefined, createSeededRandom('pairs'))
  expect([...ports.keys()]).toEqual(clusters)
  for (const { api, cluster } of ports.values()) expect(cluster).toBe(api + 1)
  expect(new Set([...ports.values()].flatMap(({ api, cluster }) => [api, cluster])).size).toBe(12)
})

it('random ports are within the configured range', async () => {
  vi.stubEnv('UNDERSTUDY_RANDOM_PORTS', '31990-31997')
  onTestFinished(() => void vi.unstubAllEnvs())
  const ports = await randomSinglePorts(4)
  expect(ports.every((port) => port >= 31_990 && port <= 31_997)).toBe(true)
  await expect(randomSinglePorts(10)).rejects.toThrow('no two consecutive ports from 31990 to 31997 are free')
})

it.each(['8200', '9000-8000', '8200-8200', '0-100', '100-65536', 'a-b', '1-2-3'])(
  'the port range %s is rejected',
  (text) => {
    expect(() => randomRange(text)).toThrow(`UNDERSTUDY_RANDOM_PORTS: "${text}" is not a port range`)
  },
)

it.each(['lb', 'six'])('no port of %s is used twice', async (name) => {
  const topology = requireTopology(name)
  const ports = await randomPorts(topology.clusters)
  const { clusters, keeper } = await planLab({ name: 'one', topology, settings: {} }, ports, thisHost())
  // The routes of a load balancer listen on its ports.
  const own = clusters.flatMap(({ ports: { api, cluster } }) => [api, cluster])
  const all = [...own, ...keeper.routes.map(({ port }) => port)]
  expect(all.every((port) => port > 0)).toBe(true)
  expect(new Set(all).size).toBe(all.length)
  for (const { balancer } of clusters)
    if (balancer) expect(all).toEqual(expect.arrayContaining([balancer.api, balancer.cluster]))
})

it('a lab from a snapshot has no random port of the snapshot, to which other servers still connect', async () => {
  const topology = requireTopology('dr')
  const was = await randomPorts(['A', 'B', 'later'])
  const addresses = [...was.values()].map(({ api, cluster }) => [`127.0.0.1:${api}`, `127.0.0.1:${cluster}`])
  const [[api = '', cluster = ''] = [], other = [], hidden = []] = addresses
  const formerly = { api: [api], cluster: [cluster], hidden: [] }
  const servers = [
    { name: 'A', formerly },
    { name: 'B', formerly: { api: other, cluster: [], hidden } },
  ]
  const former = formerPortsOf(servers)
  expect([...former].map((port) => `127.0.0.1:${port}`)).toEqual([...new Set(addresses.flat())])

  const ports = [...former].toSorted((one, two) => one - two)
  for (const pair of ports.filter((_, index) => index % 2 === 0)) {
    vi.stubEnv('UNDERSTUDY_RANDOM_PORTS', `${pair}-${pair + 1}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(portChoice(topology, { ports: 'random' }, former)()).rejects.toThrow('no two consecutive ports')
    const image = { manifest: { clusters: servers } } as unknown as LabImage
    const plan = { name: 'one', topology, settings: {}, image }
    const fixed = new Map(['A', 'B'].map((name) => [name, { api: 1, cluster: 2 }]))
    await expect(planLab(plan, fixed, thisHost())).rejects.toThrow('no two consecutive ports')
  }
})

it('--port-base takes precedence over the ports of the topology', async () => {
  const [api = 0, other = 0] = await draw()
  const topology = { ...requireTopology('single'), plans: { A: { ports: { api, cluster: api + 1 } } } }
  expect((await portChoice(topology, {})()).get('A')).toEqual({ api, cluster: api + 1 })
  expect((await portChoice(topology, { portBase: String(other) })()).get('A')?.api).toBe(other)
})
