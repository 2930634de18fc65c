import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { loadDrill } from '../../../src/lab/drills/catalogue.js'
import { loadTopology } from '../../../src/lab/topology/catalogue.js'
import { type DrillResult, type LabCluster, startLab, waitFor } from '../../../src/index.js'

const mountKv = (cluster: LabCluster) =>
  cluster.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })

const statesOf = async ({ nodes }: LabCluster) =>
  (await Promise.all(nodes.map((node) => node.status()))).map(({ state }) => state)

/** Waits until all nodes have applied the same number of entries, and resolves to it. */
const evenIndex = async ({ nodes }: LabCluster): Promise<number> => {
  let found: (number | null)[] = []
  await waitFor(
    systemClock,
    'all nodes to have applied the same',
    async () => {
      found = (await Promise.all(nodes.map((node) => node.status()))).map(({ appliedIndex }) => appliedIndex)
      return new Set(found).size === 1 ? undefined : found.join()
    },
    20_000,
  )
  return found[0] ?? 0
}

describe('a lab in this process with several nodes', () => {
  it('a lab with nodes has one active node, and unsealed standbys that keep up with it', async () => {
    await using lab = await startLab('single', { nodes: 3, shares: 3, threshold: 2 })
    expect(lab.A.nodes.map(({ name }) => name)).toEqual(['A1', 'A2', 'A3'])
    expect(await statesOf(lab.A)).toEqual(['active', 'standby', 'standby'])
    await mountKv(lab.A)
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    expect(await evenIndex(lab.A)).toBeGreaterThan(0)
    expect((await lab.node('A3').client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    expect(await lab.problems()).toEqual([])
  })

  it('the client of a lab with nodes follows the active node after a crash', async () => {
    await using lab = await startLab('single', { nodes: 3 })
    await mountKv(lab.A)
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    const killed = lab.A.activeNode
    const { client } = lab.A
    await killed.crash()
    expect((await client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    await client.write('kv/greeting', { word: 'after' })
    expect((await lab.A.active()).name).not.toBe(killed.name)
    expect(lab.A.address).toBe(lab.A.activeNode.address)
    expect((await killed.status()).state).toBe('stopped')
    await killed.start()
    await waitFor(
      systemClock,
      'it to be a standby',
      async () => ((await killed.status()).state === 'standby' ? undefined : 'no'),
      20_000,
    )
    expect((await killed.client.read('kv/greeting')).data).toEqual({ word: 'after' })
    await evenIndex(lab.A)
  })

  it('the active node of a lab steps down, and one node seals and unseals alone', async () => {
    await using lab = await startLab('single', { nodes: 3 })
    const before = lab.A.activeNode
    const after = await lab.A.stepDown()
    expect(after.name).not.toBe(before.name)
    const third = lab.A.nodes.find((node) => node !== before && node !== after)
    if (!third) throw new Error('there are three')
    await third.seal()
    expect((await third.status()).state).toBe('sealed')
    expect((await after.status()).state).toBe('active')
    await third.unseal()
    expect((await third.status()).state).toBe('standby')
  })

  it.each(['crash', 'stop'] as const)('a lab with nodes keeps acknowledged writes after each %s', async (end) => {
    await using lab = await startLab('single', { nodes: 3, storage: 'disk' })
    await mountKv(lab.A)
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    await lab.A[end]()
    expect(lab.A.isRunning).toBe(false)
    await lab.A.start()
    expect((await lab.A.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    expect((await statesOf(lab.A)).sort()).toEqual(['active', 'standby', 'standby'])
  })

  it('a partition between two nodes does not affect a third one', async () => {
    await using lab = await startLab('single', { nodes: 3 })
    const [one, two, three] = lab.A.nodes
    if (!one || !two || !three) throw new Error('there are three')
    lab.link('A1', 'A2').partition()
    expect((await three.client.read('sys/mounts')).data).toBeDefined()
    expect(await lab.problems()).toEqual(['the link A1-A2 has a fault'])
    const answer = two.client.read('sys/mounts')
    lab.link('A1', 'A2').heal()
    expect((await answer).data).toBeDefined()
  })

  it('a topology sets auto-unseal and the nodes of a cluster', async () => {
    await using lab = await startLab({
      name: 'auto',
      about: '',
      clusters: ['A', 'B'],
      links: [],
      plans: { A: { nodes: 3, tls: true, seal: { type: 'auto', shares: 1, threshold: 1 } } },
    })
    expect(lab.B.nodes.map(({ name }) => name)).toEqual(['B1'])
    expect(await lab.node('B1').status()).toMatchObject({ state: 'active', isActive: true, appliedIndex: null })
    await lab.node('A2').crash()
    await lab.node('A2').start()
    await waitFor(
      systemClock,
      'all to be open',
      async () => ((await statesOf(lab.A)).includes('sealed') ? 'sealed' : undefined),
      20_000,
    )
    await lab.A.client.read('sys/mounts')
  })

  it('clusters with nodes replicate, and continue after crashes of active nodes', async () => {
    await using lab = await startLab('pr', { nodes: 3 })
    expect((await statesOf(lab.C)).sort()).toEqual(['active', 'standby', 'standby'])
    await mountKv(lab.A)
    await lab.A.activeNode.crash()
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    await lab.converged()
    expect((await lab.C.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
  })

  it('a load balancer routes secondaries to the active node of a cluster', async () => {
    await using lab = await startLab('lb', { nodes: 3 })
    const words = ['first', 'second', 'third']
    await mountKv(lab.A)
    for (const word of words) {
      await lab.A.client.write('kv/greeting', { word })
      await lab.converged()
      expect((await lab.C.client.read('kv/greeting')).data).toEqual({ word })
      const { primary_cluster_addr: known } = await lab.C.status('performance')
      expect(lab.A.nodes.map(({ ports }) => `https://127.0.0.1:${ports.cluster}`)).not.toContain(known)
      for (const cluster of [lab.A, lab.C]) {
        const killed = cluster.activeNode
        await killed.crash()
        await cluster.active()
        await killed.start()
      }
    }
    // A standby forwards requests through the link as well.
    const standby = lab.A.nodes.find((node) => !node.isActive)
    await standby?.client.write('kv/greeting', { word: 'handed on' })
    await lab.converged()
    expect((await lab.C.client.read('kv/greeting')).data).toEqual({ word: 'handed on' })
  })

  it('a lab with nodes rejects unsupported options by name', async () => {
    await expect(startLab('single', { nodes: 2 as 3 })).rejects.toThrow('startLab: nodes is 2, but must be 1, 3 or 5')
    await using lab = await startLab('single', { nodes: 3 })
    expect(() => lab.node('A4')).toThrow('there is no node A4; the lab has A1, A2, A3')
  })
})

describe('drills on nodes', () => {
  const commandsOf = ({ steps }: DrillResult) => steps.flatMap(({ commands }) => commands)

  it('a drill on nodes starts with the current active node, and can be repeated', {
    timeout: 120_000,
  }, async () => {
    await using lab = await startLab('single', { nodes: 3 })
    await lab.A.nodes[0]?.crash()
    expect((await lab.A.active()).name).not.toBe('A1')
    await lab.A.nodes[0]?.start()
    for (const drill of ['rolling-restart', 'node-failover', 'step-down', 'step-down']) {
      const active = (await lab.A.active()).name
      const standbys = lab.A.nodes.map(({ name }) => name).filter((name) => name !== active)
      const result = await lab.drill(drill)
      expect(result, JSON.stringify([result.error, result.steps])).toMatchObject({ verdict: 'passed' })
      if (drill === 'rolling-restart')
        expect(commandsOf(result).slice(0, 3)).toEqual(
          [...standbys]
            .reverse()
            .concat(active)
            .map((name) => `understudy restart ${name}`),
        )
      if (drill === 'node-failover') expect(commandsOf(result)).toContain(`understudy crash ${active}`)
      expect(lab.A.nodes.every(({ isRunning }) => isRunning)).toBe(true)
    }
  })

  it('drills on nodes restore a primary and its secondaries', { timeout: 120_000 }, async () => {
    const { name, topology } = loadDrill('primary-node-failover-seen-by-secondaries')
    await using lab = await startLab(loadTopology(topology))
    for (const _ of ['first', 'second']) {
      const result = await lab.drill(name)
      expect(result, JSON.stringify([result.error, result.steps])).toMatchObject({ verdict: 'passed' })
      expect(lab.clusters.flatMap(({ nodes }) => nodes).every(({ isRunning }) => isRunning)).toBe(true)
    }
  })

  it('a drill on nodes rejects a lab whose nodes are missing or stopped', async () => {
    await using single = await startLab('single')
    await expect(single.drill('rolling-restart')).rejects.toThrow(/"single" has no nodes A1, A2, A3/)
    await using lab = await startLab('single', { nodes: 3 })
    await lab.A.nodes[2]?.stop()
    await expect(lab.drill('rolling-restart')).rejects.toThrow(/the node A3 is not responding/)
  })
})
