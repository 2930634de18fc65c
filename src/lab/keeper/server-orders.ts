import { KeyedLock } from '../../base/keyed-lock.js'
import { isRefused } from '../../base/link-text.js'
import { LabError } from '../model/lab-error.js'
import { clearServer, describeServerFault, type ServerFault, setServerFault } from './server-fault.js'
import type { WatchedCluster } from './watch.js'

interface ServerOrdersOptions {
  readonly clusters: () => readonly WatchedCluster[]
  /** True when somebody else gave orders before, of whose faults nobody knows any more. */
  readonly isSuccessor: boolean
}

/**
 * What is ordered of servers, one after the other for each of them. An order that got no answer may be carried out all the
 * same, as by a process that was frozen: such a server is in doubt, until all that is wrong with it was ended.
 */
export class ServerOrders {
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #turns = new KeyedLock()
  readonly #inDoubt: Set<string>

  constructor({ clusters, isSuccessor }: ServerOrdersOptions) {
    this.#clusters = clusters
    this.#inDoubt = new Set(isSuccessor ? clusters().map(({ name }) => name) : [])
  }

  /** Throws a usage error when there is no such cluster. */
  require(cluster: string): WatchedCluster {
    const clusters = this.#clusters()
    const found = clusters.find(({ name }) => name === cluster)
    if (found) return found
    throw new LabError(
      'usage',
      `there is no cluster "${cluster}"; there is ${clusters.map(({ name }) => name).join(', ')}`,
    )
  }

  /**
   * What is told to a server and what is known of it change in one turn: a healed fault is not set again by whoever waited
   * meanwhile.
   */
  async inTurn<T>(cluster: string, work: (server: WatchedCluster) => Promise<T>): Promise<T> {
    const server = this.require(cluster)
    return this.#turns.run(cluster, () => work(server))
  }

  /** Resolves when nothing is under way at any server. */
  async settled(): Promise<void> {
    await Promise.all(this.#clusters().map(({ name }) => this.#turns.run(name, () => undefined)))
  }

  /** In a turn. Rejects with the server's refusal, or with `remote` when it does not answer. */
  async set(server: WatchedCluster, fault: ServerFault): Promise<void> {
    try {
      await setServerFault(server, fault)
    } catch (error) {
      const isAnswered = !(error instanceof LabError) || error.cause === undefined
      if (!isAnswered && !isRefused(error)) this.#inDoubt.add(server.name)
      throw error
    }
  }

  get inDoubt(): ReadonlySet<string> {
    return this.#inDoubt
  }

  /** In a turn: ends whatever is wrong with the server. Resolves to what was, for people to read. */
  async clear(server: WatchedCluster): Promise<readonly string[]> {
    const ended = await clearServer(server)
    this.#inDoubt.delete(server.name)
    return ended.map(describeServerFault)
  }
}
