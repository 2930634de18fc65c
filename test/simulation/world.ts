import { simulatedServersOf } from '../../src/lab/simulated/servers.js'
import type { Answer, Call } from '../../src/server/simulated/calls.js'
import { type SimulatedCluster, SimulatedWorld } from '../../src/server/simulated/cluster.js'
import type { History } from '../../src/server/simulated/history.js'
import type { Network } from '../../src/server/simulated/network.js'
import type { Plan } from './plan.js'
import { RoleJudge } from './role-judge.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import type { SimulatedClock } from '../../src/server/simulated/simulated-clock.js'

/** A broken promise of the product. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

/** A cluster, and the facts about it that its clients know. */
export interface Member {
  readonly name: string
  readonly cluster: SimulatedCluster
  /** The key share that opens the cluster; that of its primary once it has joined. */
  unsealKey: string
  rootToken: string
}

export interface RunOptions {
  readonly isTraced?: boolean
  /** The names of the acts to run; by default all. */
  readonly only?: ReadonlySet<string>
}

/** An action that can be left out. */
export interface Act {
  readonly name: string
  readonly atMs: number
}

/** The clusters of a run with their network, disks and clients, on one clock and one seed. */
export class World {
  readonly plan: Plan
  readonly clock: SimulatedClock
  readonly history: History
  readonly network: Network
  readonly members: readonly Member[]
  readonly roles = new RoleJudge((text) => this.fail(text))
  /** The login of a user with full permissions. */
  admin: Readonly<Record<string, unknown>> = {}
  /** The executed acts, in order. */
  readonly acts: Act[] = []
  readonly #only: ReadonlySet<string> | undefined
  readonly #counts = new Map<string, number>()

  constructor(plan: Plan, names: readonly string[], { isTraced = false, only }: RunOptions = {}) {
    this.#only = only
    const { seed, networkDelayMsMax } = plan
    const { counts, ...nodes } = plan.nodes
    const clusters = names.map((name, index) => {
      return { ...nodes, name, servers: simulatedServersOf(name, index, counts[index] ?? 1, plan.settings) }
    })
    const { diskDelayMsMax } = plan
    const world = new SimulatedWorld({ ...nodes, seed, networkDelayMsMax, diskDelayMsMax, isTraced, clusters })
    this.plan = plan
    this.clock = world.clock
    this.history = world.history
    this.network = world.network
    this.members = world.clusters.map((cluster) => ({ name: cluster.name, cluster, unsealKey: '', rootToken: '' }))
  }

  /**
   * Runs one act of the run, unless it is left out. The name identifies the actor; the same acts have the same names in
   * every run.
   */
  async act(name: string, work: () => unknown): Promise<void> {
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    const act = `${name} #${count}`
    if (this.#only && !this.#only.has(act)) return
    this.acts.push({ name: act, atMs: this.clock.monotonic() })
    await work()
  }

  /** All nodes of all clusters. */
  get nodes(): readonly SimulatedNode[] {
    return this.members.flatMap(({ cluster }) => cluster.nodes)
  }

  member(name: string): Member {
    const found = this.members.find((member) => member.name === name)
    if (!found) throw new Error(`there is no cluster ${name}`)
    return found
  }

  fail(text: string): never {
    this.history.add('', `VIOLATION: ${text}`)
    throw new Violation(text)
  }

  /** Sends a request, by default with the root token. A response that reveals a bug is a violation. */
  async call({ cluster, rootToken }: Member, call: Call): Promise<Answer | undefined> {
    const whole = { token: rootToken, ...call }
    const answer = await this.roles.watch(cluster, whole, () => this.#callChecked(cluster, whole))
    const { serving } = cluster
    if (serving.length > 1) this.fail(`${serving.map(({ name }) => name).join(' and ')} are active at the same time`)
    return answer
  }

  async #callChecked(to: SimulatedCluster | SimulatedNode, call: Call): Promise<Answer | undefined> {
    const answer = await to.call(call)
    if (answer?.status === 500)
      this.fail(`${to.name} answers 500 to ${call.method} ${call.path}: ${JSON.stringify(answer.json)}`)
    return answer
  }

  /** Sends a request that must be answered. */
  async read(member: Member, call: Call): Promise<Answer> {
    const answer = await this.call(member, call)
    if (answer?.status !== 200 && answer?.status !== 404)
      this.fail(`${member.name} does not serve ${call.path}: ${answer?.status} ${JSON.stringify(answer?.json)}`)
    return answer
  }

  /** Sends a request that must succeed while there are no faults. */
  async demand(member: Member, call: Call): Promise<Answer> {
    const answer = await this.call(member, call)
    if (!answer || answer.status >= 300)
      this.fail(
        `${member.name} answers ${answer?.status} to ${call.method} ${call.path}: ${JSON.stringify(answer?.json)}`,
      )
    return answer
  }

  /** Waits for a condition; `find` returns what is still missing. */
  async until(what: string, find: () => Promise<string | undefined>, limitMs = 120_000): Promise<void> {
    const endMs = this.clock.monotonic() + limitMs
    for (;;) {
      const missing = await find()
      if (missing === undefined) return
      if (this.clock.monotonic() > endMs) this.fail(`timeout: ${what}: ${missing}`)
      await this.clock.sleep(100)
    }
  }

  /** Starts stopped nodes and unseals sealed ones, with any key share that opens them. */
  async startAndUnseal(member: Member): Promise<void> {
    await member.cluster.start()
    for (const node of member.cluster.nodes) await this.#unseal(member, node)
  }

  async #unseal({ unsealKey, rootToken: token }: Member, node: SimulatedNode): Promise<void> {
    const keys = new Set([unsealKey, ...this.members.map((member) => member.unsealKey)])
    for (const key of keys) {
      const seal = await this.#callChecked(node, { method: 'GET', path: 'sys/seal-status', token })
      if (seal?.json.sealed !== true) return
      await this.#callChecked(node, { method: 'PUT', path: 'sys/unseal', body: { key }, token })
    }
  }

  /** Starts and unseals a cluster until all of it is open: a failed storage may have to be reopened first. */
  open(member: Member): Promise<void> {
    return this.until(`${member.name} is to be open`, async () => {
      await this.startAndUnseal(member)
      for (const node of member.cluster.nodes) {
        const seal = await this.#callChecked(node, { method: 'GET', path: 'sys/seal-status', token: member.rootToken })
        if (seal?.json.sealed !== false) return `${node.name} answers ${JSON.stringify(seal?.json)}`
      }
      return member.cluster.server ? undefined : 'no node is active'
    })
  }

  async status(member: Member, kind: 'dr' | 'performance'): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.call(member, { method: 'GET', path: `sys/replication/${kind}/status` })
    return (answer?.json.data ?? {}) as Readonly<Record<string, unknown>>
  }
}
