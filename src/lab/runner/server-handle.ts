import type { Clock } from '../../base/clock.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { type Log, untilAborted } from '../../base/log.js'
import type { ServerStorage } from '../../server/data/server-storage.js'
import type { SharedMemory, SharedMemoryConnection } from '../../server/data/shared-memory.js'
import type { Server } from '../../server/server.js'
import type { ClusterNetwork } from '../links/links.js'
import type { LabError } from '../model/lab-error.js'

export interface HandleOptions {
  /** The storage that the nodes of its cluster share. The server works on a copy of it. */
  readonly shared?: SharedMemory | undefined
  readonly network: ClusterNetwork
  readonly clock: Clock
}

/**
 * A server in this process, whose data outlives its runs. Runs one action at a time, so that no start is lost in a shutdown.
 */
export abstract class ServerHandle {
  readonly #options: HandleOptions
  readonly #turns = new KeyedLock()
  #server: Server | undefined
  #storage: ServerStorage | undefined
  #shared: SharedMemoryConnection | undefined
  #over: LabError | undefined
  #life = new AbortController()

  constructor(options: HandleOptions) {
    this.#options = options
  }

  /**
   * Undefined while it is stopped.
   * @internal
   */
  protected get server(): Server | undefined {
    return this.#server
  }

  /**
   * Opens the server for a start, with the parts that `begin` returns.
   * @internal
   */
  protected abstract open(): Promise<Server>

  /** Begins a run on this storage. A crash ends its network, storage, shared log and log. */
  protected begin(storage: ServerStorage, log: Log) {
    const { shared, network, clock } = this.#options
    this.#storage = storage
    this.#shared = shared?.connect(clock)
    this.#life = new AbortController()
    return {
      network: network.begin(),
      sharedLog: this.#shared,
      openStorage: () => storage.open(),
      log: untilAborted(log, this.#life.signal),
    }
  }

  /** Starts with the existing data. Does nothing if the server runs. After `end`, rejects with the reason of `end`. */
  start(): Promise<void> {
    return this.#turns.run('', async () => {
      if (this.#over) throw this.#over
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

  /** Stops the server permanently. */
  end(reason: LabError): Promise<void> {
    this.#over = reason
    return this.stop()
  }

  /** Stops the server as SIGKILL does: its disk and sockets disappear at once, without cleanup. */
  crash(): Promise<void> {
    return this.#turns.run('', async () => {
      const server = this.#server
      this.#server = undefined
      this.#life.abort()
      this.#storage?.kill()
      this.#shared?.crash()
      this.#options.network.cut()
      // Closing fails on the dead disk. Only ports and timers must be released.
      await server?.close(0).catch(() => undefined)
      await this.#storage?.release()
    })
  }
}
