import { afterEach, expect, test } from 'vitest'
import { createSeededRandom } from '../../src/base/random.js'
import { EtcdProcess } from '../support/etcd.js'
import { KvClient, KvHistory } from '../support/kv-history.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import type { TestNodes } from '../support/nodes.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../support/soak.js'
import { until } from '../support/until.js'

/** Active nodes are killed, frozen past their lease and asked to step down, while clients read and write through all of them. */

const ROUNDS = soakRounds(3)
const KEYS = ['a', 'b', 'c']
const CLIENTS_PER_NODE = 2
const LEASE = '2s'

const ended: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end()
})

const open = async () => {
  const etcd = await EtcdProcess.start()
  ended.push(() => etcd.destroy())
  const nodes = await nodeProcesses(['A', 'B', 'C'], etcd.address, { leader_lease: LEASE })
  for (const node of nodes.all) ended.push(() => node.destroy())
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  const body = { type: 'kv', options: { version: '2' } }
  await nodes.clientOf(await nodes.active()).call('POST', 'sys/mounts/kv2', { body })
  return nodes
}

type Draw = (below: number) => number

/** One client at one node, until it is told to stop: reads, writes, and compare-and-sets over what it read last. */
const ask = async (name: string, node: NodeProcess, client: KvClient, draw: Draw, isOver: () => boolean) => {
  const versions = new Map<string, number>()
  for (let turn = 0; !isOver(); turn++) {
    if (!node.isRunning) await until(() => node.isRunning || isOver())
    const key = KEYS[draw(KEYS.length)] as string
    const choice = draw(4)
    if (choice < 2) {
      const version = await client.read(key)
      if (version !== undefined) versions.set(key, version)
    } else await client.write(key, `${name}-${turn}`, choice === 2 ? undefined : (versions.get(key) ?? 0))
  }
}

/** What ends the lead of a node; resolves when it is a node of the cluster again. */
const ENDINGS: readonly ((nodes: TestNodes<NodeProcess>, active: NodeProcess) => Promise<void>)[] = [
  async (nodes, active) => {
    await active.crash()
    await nodes.active()
    await active.start()
    await nodes.unseal(active)
  },
  async (nodes, active) => {
    active.signal('SIGSTOP')
    await nodes.active(nodes.without(active))
    active.signal('SIGCONT')
    await until(async () => (await active.health()) === 429)
  },
  async (nodes, active) => {
    await nodes.clientOf(active).call('PUT', 'sys/step-down')
    await nodes.active(nodes.without(active))
  },
]

test(
  'what clients are answered has an order, whatever becomes of the active node',
  async () => {
    const seed = soakSeed()
    console.log(`seed ${seed}`)
    const nodes = await open()
    const history = new KvHistory()
    let isOver = false
    const asking = nodes.all.flatMap((node) =>
      Array.from({ length: CLIENTS_PER_NODE }, (_, index) => {
        const name = `${node.name}${index}`
        const random = createSeededRandom(`${seed} ${name}`)
        const draw = (below: number) => random.bytes(4).readUInt32LE() % below
        return ask(name, node, new KvClient(nodes.clientOf(node), 'kv2', history), draw, () => isOver)
      }),
    )
    for (let round = 0; round < ROUNDS; round++) {
      const before = history.count(() => true)
      await until(() => history.count(() => true) > before + 50)
      await ENDINGS[(seed + round) % ENDINGS.length]?.(nodes, await nodes.active())
    }
    isOver = true
    await Promise.all(asking)
    const last = new KvClient(nodes.clientOf(await nodes.active()), 'kv2', history)
    for (const key of KEYS) await last.read(key)
    expect(history.count(({ kind }) => kind === 'conflict')).toBeGreaterThan(0)
    expect(history.violation()).toBeUndefined()
    console.log(
      `${history.count(() => true)} operations, ${history.count(({ kind }) => kind === 'conflict')} conflicts`,
    )
  },
  soakTimeoutMs(ROUNDS),
)
