import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { type LabCluster, LabError, startLab, waitFor } from '../../../src/index.js'

const mountKv = (cluster: LabCluster) =>
  cluster.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })

const statesOf = async ({ nodes }: LabCluster) =>
  (await Promise.all(nodes.map((node) => node.status()))).map(({ state }) => state)

/** Waits until all nodes have applied the same number of entries, and resolves with it. */
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
  it('has one active node, and others that are unsealed and keep up with it', async () => {
    await using lab = await startLab('single', { nodes: 3, shares: 3, threshold: 2 })
    expect(lab.A.nodes.map(({ name }) => name)).toEqual(['A1', 'A2', 'A3'])
    expect(await statesOf(lab.A)).toEqual(['active', 'standby', 'standby'])
    await mountKv(lab.A)
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    expect(await evenIndex(lab.A)).toBeGreaterThan(0)
    expect((await lab.node('A3').client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    expect(await lab.problems()).toEqual([])
  })

  it('follows the active node by itself when that is killed, and takes it back', async () => {
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

  it('steps down, and seals and unseals one node alone', async () => {
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

  it.each(['crash', 'stop'] as const)('keeps what was acknowledged when every node ends: %s', async (end) => {
    await using lab = await startLab('single', { nodes: 3, storage: 'disk' })
    await mountKv(lab.A)
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    await lab.A[end]()
    expect(lab.A.isRunning).toBe(false)
    await lab.A.start()
    expect((await lab.A.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    expect((await statesOf(lab.A)).sort()).toEqual(['active', 'standby', 'standby'])
  })

  it('cuts two nodes off from each other and no third one', async () => {
    await using lab = await startLab('single', { nodes: 3 })
    const [one, two, three] = lab.A.nodes
    if (!one || !two || !three) throw new Error('there are three')
    lab.link('A1', 'A2').partition()
    expect((await three.client.read('sys/mounts')).data).toBeDefined()
    expect(await lab.problems()).toEqual(['the link A1-A2 is cut or has a fault'])
    const answer = two.client.read('sys/mounts')
    lab.link('A1', 'A2').heal()
    expect((await answer).data).toBeDefined()
  })

  it('opens by itself where the topology says so, and takes nodes from the topology', async () => {
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

  it('replicates between clusters of several nodes, and goes on when active nodes are killed', async () => {
    await using lab = await startLab('pr', { nodes: 3 })
    expect((await statesOf(lab.C)).sort()).toEqual(['active', 'standby', 'standby'])
    await mountKv(lab.A)
    await lab.A.activeNode.crash()
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    await lab.converged()
    expect((await lab.C.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
  })

  it('refuses what it does not have, by name', async () => {
    await expect(startLab('single', { nodes: 2 as 3 })).rejects.toThrow('nodes is 1, 3, 5, not 2')
    await expect(startLab('lb', { nodes: 3 })).rejects.toThrow('load balancer')
    await using lab = await startLab('single', { nodes: 3 })
    expect(() => lab.node('A4')).toThrow('there is no node A4; there are A1, A2, A3')
    await expect(lab.reset()).rejects.toThrow(LabError)
    await expect(lab.snapshot()).rejects.toThrow('no snapshots and no reset')
  })
})
