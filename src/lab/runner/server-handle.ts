import type { Clock } from '../../base/clock.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { type Log, untilAborted } from '../../base/log.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import type { SharedMemory, SharedMemoryConnection } from '../../server/data/shared-memory.js'
import type { Server } from '../../server/server.js'
import type { ClusterNetwork } from '../links/links.js'
import type { LabError } from '../model/lab-error.js'

export interface HandleOptions {
  /** The memory that the nodes of its cluster share. Each node works on a copy of the data. */
  readonly shared?: SharedMemory | undefined
  readonly network: ClusterNetwork
  readonly clock: Clock
}

/**
 * A server in this process. Its data remains when it stops. Runs one action at a time, so a start during a stop takes
 * effect.
 */
export abstract class ServerHandle {
  readonly #options: HandleOptions
  readonly #turns = new KeyedLock()
  #server: Server | undefined
  #storage: ServerStorage | undefined
  #shared: SharedMemoryConnection | undefined
  #endReason: LabError | undefined
  /** Aborted when the current run crashes. */
  #run = new AbortController()

  constructor(options: HandleOptions) {
    this.#options = options
  }

  /**
   * The running server. Undefined while it is stopped.
   * @internal
   */
  protected get server(): Server | undefined {
    return this.#server
  }

  /**
   * Starts a server with the network, storage, shared log and log that `begin` returns.
   * @internal
   */
  protected abstract open(): Promise<Server>

  /** Begins a run on this storage, and returns its network, storage, shared log and log. A crash ends all four. */
  protected begin(storage: ServerStorage, log: Log) {
    const { shared, network, clock } = this.#options
    this.#storage = storage
    this.#shared = shared?.connect(clock)
    this.#run = new AbortController()
    return {
      network: network.begin(),
      sharedLog: this.#shared,
      openStorage: () => storage.open(),
      log: untilAborted(log, this.#run.signal),
    }
  }

  /** Starts with the existing data. Does nothing if the server runs. After `end`, rejects with the reason of `end`. */
  start(): Promise<void> {
    return this.#turns.run('', async () => {
      if (this.#endReason) throw this.#endReason
      this.#server ??= await this.open()
    })
  }

  /** Stops the server as SIGTERM does. */
  stop(): Promise<void> {
    return this.#turns.run('', async () => {
      const server = this.#server
      this.#server = undefined
      await server?.close()
    })
  }

  /** Stops the server permanently. A later start rejects with `reason`. */
  end(reason: LabError): Promise<void> {
    this.#endReason = reason
    return this.stop()
  }

  /** Stops the server as SIGKILL does: its disk and sockets fail at once, without cleanup. */
  crash(): Promise<void> {
    return this.#turns.run('', async () => {
      const server = this.#server
      this.#server = undefined
      this.#run.abort()
      this.#storage?.kill()
      this.#shared?.crash()
      this.#options.network.cut()
      // Closing fails on the dead disk. Only ports and timers must be released.
      await server?.close(0).catch(() => undefined)
      await this.#storage?.release()
    })
  }
}
