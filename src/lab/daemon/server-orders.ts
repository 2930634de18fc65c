import { KeyedLock } from '../../base/keyed-lock.js'
import { isRefused } from '../../base/link-text.js'
import { LabError } from '../model/lab-error.js'
import { clearServer, describeServerFault, type ServerFault, setServerFault } from './server-fault.js'
import type { WatchedCluster } from './watch.js'

interface ServerOrdersOptions {
  readonly clusters: () => readonly WatchedCluster[]
  /** True if an earlier daemon may have set faults that this one does not know. */
  readonly isSuccessor: boolean
}

/**
 * Sends fault requests to servers, one at a time per server. A request without response may still take effect, for example after
 * a suspended process resumes. Such a server is in doubt until all its faults are cleared.
 */
export class ServerOrders {
  readonly #clusters: () => readonly WatchedCluster[]
  readonly #turns = new KeyedLock()
  readonly #inDoubt: Set<string>

  constructor({ clusters, isSuccessor }: ServerOrdersOptions) {
    this.#clusters = clusters
    this.#inDoubt = new Set(isSuccessor ? clusters().map(({ name }) => name) : [])
  }

  /** Returns a cluster. Throws a usage error if it does not exist. */
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
   * Runs work under the lock of a server, so that its faults and their record change together: a waiting request cannot set a
   * healed fault again.
   */
  async inTurn<T>(cluster: string, work: (server: WatchedCluster) => Promise<T>): Promise<T> {
    const server = this.require(cluster)
    return this.#turns.run(cluster, () => work(server))
  }

  /** Resolves when no request to any server is in progress. */
  async settled(): Promise<void> {
    await Promise.all(this.#clusters().map(({ name }) => this.#turns.run(name, () => undefined)))
  }

  /** Sets a fault, under the lock. Rejects with the error of the server, or with `remote` if it does not respond. */
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

  /** Removes all faults of the server, under the lock. Resolves to their descriptions. */
  async clear(server: WatchedCluster): Promise<readonly string[]> {
    const ended = await clearServer(server)
    this.#inDoubt.delete(server.name)
    return ended.map(describeServerFault)
  }
}
