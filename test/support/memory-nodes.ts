import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.js'
import { type Log, silentLog } from '../../src/base/log.js'
import { type PortPair, randomPorts } from '../../src/lab/model/ports.js'
import type { Server } from '../../src/server/server.js'
import { MemoryLog } from '../../src/storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../src/storage/shared-log/memory-shared-log.js'
import type { EngineSource } from '../../src/storage/engine/engine-source.js'
import type { Store } from '../../src/storage/store/store.js'
import { copyRest } from '../../src/storage/generations/live-copy.js'
import { startServer } from './memory-server.js'
import { nodeConfig, TestNode, TestNodes } from './nodes.js'

/** Long enough that a busy machine causes no failover by chance. */
const LEASE_MS = 20_000

interface Options {
  /** Lease of the leader: the time until another node may take over from a crashed node. */
  readonly leaseMs?: number
  /** Settings of the stanza `understudy`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Other parts of the configuration. */
  readonly more?: object
  /** Returns the clock of a node by its name. */
  readonly clock?: (name: string) => Clock
  readonly log?: (name: string) => Log
  /** Returns the storage of a start (default: empty). */
  readonly openStorage?: () => EngineSource
}

/** A server in this process over a shared log in memory. By default, its disk is empty at each start. */
export class MemoryNode extends TestNode {
  readonly #log: MemoryLog | undefined
  readonly #options: Options
  shared: MemorySharedLog | undefined
  #server: Server | undefined

  /** `log` is undefined for a standalone server. */
  constructor(name: string, ports: PortPair, log: MemoryLog | undefined, options: Options) {
    super(name, ports)
    this.#log = log
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#server !== undefined
  }

  /** The store of the open runtime, if there is one. */
  get store(): Store | undefined {
    return this.#server?.host.runtime?.store
  }

  /** Number of the storage generation; increases each time the data is replaced. */
  get storageGeneration(): number {
    return this.#server?.host.storageGeneration ?? 0
  }

  /** Index of the last entry of the log. */
  get logIndex(): number {
    return this.#log?.end.index ?? 0
  }

  /** Ends the term of the leader. The leader learns of it by its next append. */
  endLeadership(): void {
    const term = this.#log?.leader?.term
    if (term !== undefined) this.#log?.release(term)
  }

  /** Ends the term of the leader after its next append, so that the append after that fails. */
  endLeadershipAfterNextAppend(): void {
    const before = this.logIndex
    const unsubscribe = this.#log?.onChange(() => {
      if (this.logIndex === before) return
      unsubscribe?.()
      this.endLeadership()
    })
  }

  /** Moves all data to a new generation, as the destruction of filtered data does. Resolves at the end. */
  async moveData(): Promise<void> {
    const host = this.#server?.host
    if (!host) throw new Error(`${this.name} does not run`)
    await host.replaceData('a test asks for it', {
      rootKeyAfter: (rootKey) => rootKey,
      prepare: (fresh, old) => copyRest(old, fresh, () => false),
    })
    await host.settled()
  }

  async start(): Promise<void> {
    const { settings = {}, more = {}, openStorage, clock, log } = this.#options
    this.shared = this.#log && new MemorySharedLog(this.#log, systemClock)
    this.#server = await startServer(
      { ...nodeConfig(this.ports, { inmem: {} }, settings), ...more },
      {
        env: { VAULT_RAFT_NODE_ID: this.name },
        clock: clock?.(this.name) ?? systemClock,
        log: log?.(this.name) ?? silentLog,
        sharedLog: this.shared,
        data: openStorage?.(),
      },
    )
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    await server?.close(0)
  }

  async crash(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.shared?.crash()
    await server?.close(0).catch(() => undefined)
  }
}

/** Starts a cluster of several nodes in this process, until the end of the test. */
export const startMemoryNodes = (names: readonly string[], options: Options = {}): Promise<TestNodes<MemoryNode>> =>
  startNodes(names, new MemoryLog({ clock: systemClock, leaseMs: options.leaseMs ?? LEASE_MS }), options)

/** Starts a cluster of one standalone server in this process, until the end of the test. */
export const startLoneNode = (name: string, options: Options = {}): Promise<TestNodes<MemoryNode>> =>
  startNodes([name], undefined, options)

const startNodes = async (
  names: readonly string[],
  log: MemoryLog | undefined,
  options: Options,
): Promise<TestNodes<MemoryNode>> => {
  const ports = await randomPorts([...names])
  const all = names.map((name) => {
    const pair = ports.get(name)
    if (!pair) throw new Error(`no ports for ${name}`)
    return new MemoryNode(name, pair, log, options)
  })
  const nodes = new TestNodes(all)
  onTestFinished(() => nodes.close())
  for (const node of all) await node.start()
  return nodes
}
