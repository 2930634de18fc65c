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
/** So many rounds share keys: the search for an order of all that was asked of one takes longer with each. */
const ROUNDS_PER_KEY = 5
const KEYS = ['a', 'b', 'c']
const CLIENTS_PER_NODE = 2
const LEASE = '2s'

const ended: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end()
})

const open = async (more: object = {}) => {
  const etcd = await EtcdProcess.start()
  ended.push(() => etcd.destroy())
  const nodes = await nodeProcesses(['A', 'B', 'C'], etcd.address, { leader_lease: LEASE }, more)
  for (const node of nodes.all) ended.push(() => node.destroy())
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  const body = { type: 'kv', options: { version: '2' } }
  await nodes.clientOf(await nodes.active()).call('POST', 'sys/mounts/kv2', { body })
  return nodes
}

const keysIn = (round: number) => KEYS.map((key) => `${key}${Math.floor(round / ROUNDS_PER_KEY)}`)

type Draw = (below: number) => number

/** One client at one node, until it is told to stop: reads, writes, and compare-and-sets over what it read last. */
const ask = async (name: string, node: NodeProcess, client: KvClient, draw: Draw, now: { round: number }) => {
  const versions = new Map<string, number>()
  const isOver = () => now.round >= ROUNDS
  let isAnswered = true
  for (let turn = 0; !isOver(); turn++) {
    if (!isAnswered) await until(async () => isOver() || (await node.health()) !== 0)
    const key = keysIn(now.round)[draw(KEYS.length)] as string
    const choice = draw(4)
    if (choice < 2) {
      const version = await client.read(key)
      isAnswered = version !== undefined
      if (version !== undefined) versions.set(key, version)
    } else isAnswered = await client.write(key, `${name}-${turn}`, choice === 2 ? undefined : (versions.get(key) ?? 0))
  }
}

type Ending = (nodes: TestNodes<NodeProcess>, active: NodeProcess) => Promise<void>

const killed: Ending = async (nodes, active) => {
  await active.crash()
  await nodes.active()
  await active.start()
  await nodes.unseal(active)
}

const frozen: Ending = async (nodes, active) => {
  active.signal('SIGSTOP')
  await nodes.active(nodes.without(active))
  active.signal('SIGCONT')
  await until(async () => [429, 473].includes(await active.health()))
}

const steppedDown: Ending = async (nodes, active) => {
  await nodes.clientOf(active).call('PUT', 'sys/step-down')
  await nodes.active(nodes.without(active))
}

/** What ends the lead of a node, one after the other; each resolves when it is a node of the cluster again. */
const ENDINGS = { killed, frozen, steppedDown }
const ORDER = ['killed', 'frozen', 'steppedDown', 'killed', 'killed', 'killed', 'killed'] as const

/** Clients at every node, each with a history that it is given, while active nodes come and go. */
const play = async (nodes: TestNodes<NodeProcess>, historyOf: () => KvHistory) => {
  const seed = soakSeed()
  console.log(`seed ${seed}`)
  const now = { round: 0 }
  const ends = { killed: 0, frozen: 0, steppedDown: 0 }
  const histories = new Set<KvHistory>()
  const count = () => [...histories].reduce((sum, history) => sum + history.count(() => true), 0)
  const asking = nodes.all.flatMap((node) =>
    Array.from({ length: CLIENTS_PER_NODE }, (_, index) => {
      const name = `${node.name}${index}`
      const random = createSeededRandom(`${seed} ${name}`)
      const draw = (below: number) => random.bytes(4).readUInt32LE() % below
      const history = historyOf()
      histories.add(history)
      return ask(name, node, new KvClient(nodes.clientOf(node), 'kv2', history), draw, now)
    }),
  )
  for (; now.round < ROUNDS; now.round++) {
    const before = count()
    await until(() => count() > before + 50)
    const end = ORDER[now.round % ORDER.length] ?? 'killed'
    await ENDINGS[end](nodes, await nodes.active())
    ends[end]++
  }
  await Promise.all(asking)
  console.log(`${count()} operations; active nodes: ${JSON.stringify(ends)}`)
}

test(
  'a client of one performance standby reads nothing older than what it has read or written, whatever becomes of the active node',
  async () => {
    const histories: KvHistory[] = []
    await play(await open(), () => {
      const history = new KvHistory()
      histories.push(history)
      return history
    })
    for (const history of histories) {
      expect(history.count(({ kind }) => kind === 'read')).toBeGreaterThan(0)
      expect(history.regression()).toBeUndefined()
    }
  },
  soakTimeoutMs(ROUNDS),
)

test(
  'what clients are answered has an order, whatever becomes of the active node',
  async () => {
    // Standbys that hand everything on: what others read from their copies may be a moment old.
    const nodes = await open({ disable_performance_standby: true })
    const history = new KvHistory()
    await play(nodes, () => history)
    const last = new KvClient(nodes.clientOf(await nodes.active()), 'kv2', history)
    for (const key of history.keys) await last.read(key)
    expect(history.count(({ kind }) => kind === 'conflict')).toBeGreaterThan(0)
    expect(history.violation()).toBeUndefined()
    console.log(
      `${history.count(({ kind }) => kind === 'conflict')} conflicts, ${history.refusals} writes refused as not done`,
    )
  },
  soakTimeoutMs(ROUNDS),
)
