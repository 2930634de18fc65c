import { systemClock } from '../../base/clock.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import type { HostedFiles, HostedVerb, ServerHost } from '../daemon/run-lab-daemon.js'
import { SharedMemory } from '../../server/data/shared-memory.js'
import { LabError } from '../model/lab-error.js'
import { NODE_LEASE_MS } from '../model/settings.js'
import { HostedServer } from './hosted-server.js'

/** The servers of a lab that share the process of its daemon. None runs until it is started. */
export class HostedServers implements ServerHost {
  readonly #servers: ReadonlyMap<string, HostedServer>
  readonly #turns = new KeyedLock()
  #isClosed = false

  constructor(files: readonly HostedFiles[]) {
    const memories = new Map<string, SharedMemory>()
    const memoryOf = (cluster: string): SharedMemory => {
      const memory = memories.get(cluster) ?? new SharedMemory({ clock: systemClock, leaseMs: NODE_LEASE_MS })
      memories.set(cluster, memory)
      return memory
    }
    this.#servers = new Map(
      files.map((one) => [
        one.name,
        new HostedServer(one, one.cluster === undefined ? undefined : memoryOf(one.cluster)),
      ]),
    )
  }

  /** Runs actions on each server one at a time. */
  work(name: string, verb: HostedVerb): Promise<void> {
    const server = this.#servers.get(name)
    if (!server) throw new LabError('usage', `there is no cluster ${name} in this process; there is ${this.#names}`)
    return this.#turns.run(name, () => {
      if (this.#isClosed) throw new LabError('conflict', 'the lab goes down')
      return server[verb]()
    })
  }

  get #names(): string {
    return [...this.#servers.keys()].join(', ')
  }

  /** Stops all servers as SIGTERM does. None can be started afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#servers].map(([name, server]) => this.#turns.run(name, () => server.stop())))
  }
}
