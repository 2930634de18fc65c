import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.js'
import { type Log, silentLog } from '../../src/base/log.js'
import { type PortPair, randomPorts } from '../../src/lab/model/ports.js'
import type { Server } from '../../src/server/server.js'
import { MemoryLog } from '../../src/storage/shared-log/memory-log.js'
import { MemorySharedLog } from '../../src/storage/shared-log/memory-shared-log.js'
import type { EngineSource } from '../../src/storage/engine/engine-source.js'
import type { Store } from '../../src/storage/store/store.js'
import { copyRest } from '../../src/storage/generations/rest-copy.js'
import { startServer } from './memory-server.js'
import { nodeConfig, TestNode, TestNodes } from './nodes.js'

/** Long enough for a machine that stands still for a while: nobody is to lose it by chance. */
const LEASE_MS = 20_000

interface Options {
  /** How long a leader that is gone is waited for. */
  readonly leaseMs?: number
  /** Of the stanza of our own. */
  readonly settings?: Readonly<Record<string, string>>
  /** The rest of the configuration. */
  readonly more?: object
  /** Of a node by its name. */
  readonly clock?: (name: string) => Clock
  readonly log?: (name: string) => Log
  /** What each start finds. */
  readonly openStorage?: () => EngineSource
}

/** A server in this process over a log in memory, with a disk that is empty at each start. */
export class MemoryNode extends TestNode {
  readonly #log: MemoryLog | undefined
  readonly #options: Options
  shared: MemorySharedLog | undefined
  #server: Server | undefined

  /** Without a log it is a cluster alone. */
  constructor(name: string, ports: PortPair, log: MemoryLog | undefined, options: Options) {
    super(name, ports)
    this.#log = log
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#server !== undefined
  }

  /** What its data is stored by, where there is any. */
  get store(): Store | undefined {
    return this.#server?.host.runtime?.store
  }

  /** How often its data was replaced, and once more. */
  get storageGeneration(): number {
    return this.#server?.host.storageGeneration ?? 0
  }

  /** The end of the log. */
  get logIndex(): number {
    return this.#log?.end.index ?? 0
  }

  /** The log knows no leader any more; whoever led hears of it when it appends something. */
  endLead(): void {
    const term = this.#log?.leader?.term
    if (term !== undefined) this.#log?.release(term)
  }

  /** The next entry is appended, and the one behind it is not. */
  endLeadAfterNextAppend(): void {
    const before = this.logIndex
    const unsubscribe = this.#log?.onNews(() => {
      if (this.logIndex === before) return
      unsubscribe?.()
      this.endLead()
    })
  }

  /** All that it holds goes over to a new generation, as when filtered data is destroyed. Resolves when that is over. */
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

/** A cluster of several nodes in this process, until the test is over. */
export const startMemoryNodes = (names: readonly string[], options: Options = {}): Promise<TestNodes<MemoryNode>> =>
  startNodes(names, new MemoryLog({ clock: systemClock, leaseMs: options.leaseMs ?? LEASE_MS }), options)

/** A cluster of one server that knows nothing of nodes, until the test is over. */
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
