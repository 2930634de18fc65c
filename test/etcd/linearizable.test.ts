import { expect, test } from 'vitest'
import { quantile } from '../../scripts/bench/stats.js'
import { createSeededRandom } from '../../src/base/random.js'
import type { ApiAnswer, ApiClient } from '../../src/client/api-client.js'
import { startEtcd } from '../support/etcd.js'
import { KvHistory, type KvOperation } from '../support/kv-history.js'
import { type NodeProcess, nodeProcesses } from '../support/node-processes.js'
import { LimitedLogins } from '../support/node-writers.js'
import type { TestNodes } from '../support/nodes.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../support/soak.js'
import { until } from '../support/until.js'

/**
 * Kills the active node, suspends it for longer than its lease, or makes it step down, while clients read and write
 * through all nodes.
 */

const ROUNDS = soakRounds(3)
/** Rounds with plain standbys, which forward all requests to the active node. */
const PLAIN_ROUNDS = Math.max(Math.min(ROUNDS, 3), Math.floor(ROUNDS / 7))
/** Number of rounds that share keys, so that a run also contains several first writes. */
const ROUNDS_PER_KEY = 5
const KEYS = ['a', 'b', 'c']
const CLIENTS_PER_NODE = 2
/** Maximum number of uses of the SecretID of a round. */
const USES = 12
const LEASE = '2s'

const open = async (more: object = {}) => {
  const etcd = await startEtcd()
  const nodes = await nodeProcesses(['A', 'B', 'C'], etcd.address, { leader_lease: LEASE }, more)
  await Promise.all(nodes.all.map((node) => node.start()))
  await nodes.open()
  const client = nodes.clientOf(await nodes.active())
  await client.call('POST', 'sys/mounts/kv2', { body: { type: 'kv', options: { version: '2' } } })
  await LimitedLogins.enable(client)
  return nodes
}

const keysIn = (round: number) => KEYS.map((key) => `${key}${Math.floor(round / ROUNDS_PER_KEY)}`)

interface KvClientHistories {
  /** Operations that must be linearizable: all responses of the active node, to any client. */
  readonly active: KvHistory
  /**
   * The writes of this client, and its reads at its own node. The same object as `active` if that node serves no reads.
   */
  readonly own: KvHistory
}

/** One client, which records its requests and responses. */
class KvClient {
  readonly #client: ApiClient
  readonly #mount: string
  readonly #histories: KvClientHistories

  constructor(client: ApiClient, mount: string, histories: KvClientHistories) {
    this.#client = client
    this.#mount = mount
    this.#histories = histories
  }

  /** Resolves to the current version, or to undefined without a response. */
  async read(key: string, from: 'active' | 'own' = 'active'): Promise<number | undefined> {
    const calledMs = performance.now()
    const headers = from === 'active' ? { 'X-Vault-Forward': 'active-node' } : {}
    const answer = await this.#client.send('GET', `${this.#mount}/data/${key}`, { headers }).catch(() => undefined)
    if (answer?.status !== 200 && answer?.status !== 404) return undefined
    const { data, metadata } = (answer.json?.data ?? {}) as { data?: { v: string }; metadata?: { version: number } }
    const version = metadata?.version ?? 0
    this.#add([this.#histories[from]], key, calledMs, { kind: 'read', version, value: data?.v })
    return version
  }

  /**
   * Writes a value, with `cas` as a compare-and-set. Resolves to false if the outcome is unknown or the node serves no
   * writes.
   */
  async write(key: string, value: string, cas?: number): Promise<boolean> {
    const calledMs = performance.now()
    const body = { data: { v: value }, ...(cas === undefined ? {} : { options: { cas } }) }
    const answer = await this.#client.send('PUT', `${this.#mount}/data/${key}`, { body }).catch(() => undefined)
    const write = { kind: 'write', value, ...(cas === undefined ? {} : { cas }) } as const
    const { active, own } = this.#histories
    if (answer?.status === 200) {
      const { version } = (answer.json?.data ?? {}) as { version: number }
      this.#add(new Set([active, own]), key, calledMs, { ...write, version })
      return true
    }
    if (answer?.status === 400 && cas !== undefined) {
      this.#add(new Set([active, own]), key, calledMs, { kind: 'conflict', cas })
      return true
    }
    if (isRefused(answer)) active.refusals++
    else active.add(key, { operation: { ...write, version: undefined }, calledMs, answeredMs: Infinity })
    return false
  }

  #add(histories: Iterable<KvHistory>, key: string, calledMs: number, operation: KvOperation): void {
    const timed = { operation, calledMs, answeredMs: performance.now() }
    for (const history of histories) history.add(key, timed)
  }
}

/** Returns true if the server states that it did not execute the write. No order allows a later read of the value. */
const isRefused = (answer: ApiAnswer | undefined): boolean =>
  answer?.status === 503 && !JSON.stringify(answer.json ?? '').includes('outcome unknown')

type Draw = (below: number) => number

interface Progress {
  round: number
  readonly rounds: number
}

/**
 * Runs one client at one node until the last round: reads, writes, and compare-and-sets over the last version it read.
 */
const runClient = async (name: string, node: NodeProcess, client: KvClient, draw: Draw, progress: Progress) => {
  const versions = new Map<string, number>()
  const isOver = () => progress.round >= progress.rounds
  let isAnswered = true
  for (let turn = 0; !isOver(); turn++) {
    if (!isAnswered) await until(async () => isOver() || (await node.health()) !== 0)
    const key = keysIn(progress.round)[draw(KEYS.length)] as string
    const choice = draw(4)
    if (choice < 2) {
      const version = await client.read(key, choice === 0 ? 'active' : 'own')
      isAnswered = version !== undefined
      if (version !== undefined) versions.set(key, version)
    } else isAnswered = await client.write(key, `${name}-${turn}`, choice === 2 ? undefined : (versions.get(key) ?? 0))
  }
}

/** Ends a leadership. Resolves to a time at which it has ended: only the next active node can serve later requests. */
type Ending = (nodes: TestNodes<NodeProcess>, active: NodeProcess) => Promise<number>

const killed: Ending = async (nodes, active) => {
  const endedMs = performance.now()
  await active.crash()
  await nodes.active()
  await active.start()
  await nodes.unseal(active)
  return endedMs
}

const suspended: Ending = async (nodes, active) => {
  const endedMs = performance.now()
  active.signal('SIGSTOP')
  await nodes.active(nodes.without(active))
  active.signal('SIGCONT')
  await until(async () => [429, 473].includes(await active.health()))
  return endedMs
}

const steppedDown: Ending = async (nodes, active) => {
  await nodes.clientOf(active).call('PUT', 'sys/step-down')
  const endedMs = performance.now()
  await nodes.active(nodes.without(active))
  return endedMs
}

/** The ways to end a leadership. Each resolves when the node is part of the cluster again. */
const ENDINGS = { killed, suspended, steppedDown }
const ORDER = ['killed', 'suspended', 'steppedDown', 'killed', 'killed', 'killed', 'killed'] as const

interface Outage {
  readonly end: keyof typeof ENDINGS
  /** Times before and after the end of the leadership. */
  readonly fromMs: number
  readonly endedMs: number
}

interface Observations {
  /** All responses of active nodes. */
  readonly active: KvHistory
  /** The responses that each client received from its own node. */
  readonly own: readonly KvHistory[]
  readonly outages: readonly Outage[]
  readonly logins: { done: number; tooMany: number }
}

/** Runs clients at every node while the active node changes. */
const observe = async (nodes: TestNodes<NodeProcess>, rounds: number, hasCopies: boolean): Promise<Observations> => {
  const seed = soakSeed()
  console.log(`seed ${seed}`)
  const progress = { round: 0, rounds }
  const active = new KvHistory()
  const own: KvHistory[] = []
  const outages: Outage[] = []
  const logins = { done: 0, tooMany: 0 }
  const clients = nodes.all.flatMap((node) =>
    Array.from({ length: CLIENTS_PER_NODE }, (_, index) => {
      const name = `${node.name}${index}`
      const random = createSeededRandom(`${seed} ${name}`)
      const draw = (below: number) => random.bytes(4).readUInt32LE() % below
      const histories = { active, own: hasCopies ? new KvHistory() : active }
      if (hasCopies) own.push(histories.own)
      return runClient(name, node, new KvClient(nodes.clientOf(node), 'kv2', histories), draw, progress)
    }),
  )
  for (; progress.round < rounds; progress.round++) {
    const before = active.size
    await until(() => active.size > before + 40)
    const users = await LimitedLogins.start(nodes, USES)
    await users.reach(2)
    const end = ORDER[progress.round % ORDER.length] ?? 'killed'
    const ending = await nodes.active()
    const fromMs = performance.now()
    outages.push({ end, fromMs, endedMs: await ENDINGS[end](nodes, ending) })
    const { logins: done, tooMany } = await users.end()
    logins.done += done
    logins.tooMany += tooMany
    if ((progress.round + 1) % 10 === 0) console.log(`round ${progress.round + 1}: ${active.size} operations`)
  }
  await Promise.all(clients)
  const last = new KvClient(nodes.clientOf(await nodes.active()), 'kv2', { active, own: new KvHistory() })
  for (const key of active.keys) await last.read(key)
  return { active, own, outages, logins }
}

/** Returns, for each outage, the milliseconds from its start to the acknowledgment of the first write sent after it. */
const gapsOf = ({ active, outages }: Observations, end: keyof typeof ENDINGS): readonly number[] => {
  const writes = active.writes
  return outages
    .filter((outage) => outage.end === end)
    .map(({ fromMs, endedMs }) => {
      const answers = writes.filter(({ calledMs }) => calledMs >= endedMs).map(({ answeredMs }) => answeredMs)
      return Math.min(...answers) - fromMs
    })
}

const report = (observations: Observations): void => {
  const { active, own, logins } = observations
  const ownReads = own.reduce((sum, history) => sum + history.count(({ kind }) => kind === 'read'), 0)
  const conflicts = active.count(({ kind }) => kind === 'conflict')
  const unknown = active.all.filter(({ answeredMs }) => answeredMs === Infinity).length
  const { lost, doubled } = active.faults
  const lines = [
    `${active.size} operations in order, ${ownReads} reads of copies`,
    `writes: ${active.writes.length} acknowledged, ${lost.length} lost, ${doubled.length} doubled; ${active.refusals} refused as not done, ${unknown} of unknown outcome, ${conflicts} conflicts`,
    `logins with limited SecretIDs: ${logins.done}, ${logins.tooMany} too many`,
  ]
  for (const end of Object.keys(ENDINGS) as (keyof typeof ENDINGS)[]) {
    const gaps = gapsOf(observations, end)
    const [p50, p99] = [0.5, 0.99].map((share) => Math.round(quantile(gaps, share)))
    if (gaps.length > 0)
      lines.push(`${end}: ${gaps.length}, first write acknowledged after p50 ${p50} ms, p99 ${p99} ms`)
  }
  console.log(lines.join('\n'))
}

const expectOrder = ({ active, logins }: Observations): void => {
  expect(active.count(({ kind }) => kind === 'conflict')).toBeGreaterThan(0)
  expect(active.faults).toEqual({ lost: [], doubled: [] })
  expect(active.violation()).toBeUndefined()
  expect(logins.tooMany).toBe(0)
}

test(
  'responses of active nodes are linearizable, and reads of performance standbys never go back, across failovers',
  async () => {
    const observations = await observe(await open(), ROUNDS, true)
    report(observations)
    expectOrder(observations)
    for (const history of observations.own) {
      expect(history.count(({ kind }) => kind === 'read')).toBeGreaterThan(0)
      expect(history.regression()).toBeUndefined()
    }
  },
  soakTimeoutMs(ROUNDS),
)

test(
  'responses to clients of plain standbys are linearizable across failovers',
  async () => {
    const observations = await observe(await open({ disable_performance_standby: true }), PLAIN_ROUNDS, false)
    report(observations)
    expectOrder(observations)
  },
  soakTimeoutMs(PLAIN_ROUNDS),
)
