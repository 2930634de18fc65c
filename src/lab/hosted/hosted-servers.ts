import { systemClock } from '../../base/clock.js'
import { makeDirectory } from '../../base/make-directory.js'
import { KeyedLock } from '../../base/keyed-lock.js'
import { createPinoLog, fileSink } from '../../base/pino-log.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { SharedMemory, type SharedMemoryConnection } from '../../server/data/shared-memory.js'
import { createCopyStorage, createDirectoryStorage, type ServerStorage } from '../../server/data/server-storage.js'
import type { Server } from '../../server/server.js'
import { StartFailure, startServerFrom } from '../../server/start.js'
import type { HostedFiles, HostedVerb, ServerHost } from '../daemon/run-lab-daemon.js'
import { LabError } from '../model/lab-error.js'
import { NODE_LEASE_MS } from '../model/settings.js'
import { configArgument } from '../processes/lab-host.js'
import { Links } from '../links/links.js'

/**
 * One server of a lab whose servers share a process. It reads the configuration file of a separate process, and its data on disk
 * outlives it in the same way.
 */
class HostedServer {
  readonly #files: HostedFiles
  readonly #network = new Links().networkOf('')
  #storage: ServerStorage | undefined
  #server: Server | undefined
  readonly #memory: SharedMemory | undefined
  #shared: SharedMemoryConnection | undefined

  /** `memory` is the storage that nodes of one cluster share. Such a node has no data directory. */
  constructor(files: HostedFiles, memory?: SharedMemory) {
    this.#files = files
    this.#memory = memory
  }

  /** Starts the server unless it runs. Rejects with LabError `conflict` if another process uses its ports or data. */
  async start(): Promise<void> {
    if (this.#server) return
    const { name, configFile, logFile } = this.#files
    const { config, problems } = loadServerConfig([configArgument(configFile)], { VAULT_RAFT_NODE_ID: name })
    if (!config) throw new LabError('usage', problems.map(({ text }) => text).join('; '))
    const { path } = config.storage
    if (path === undefined && !this.#memory)
      throw new LabError('usage', `${configFile} names no directory for the data`)
    // A node stores its data in memory, and its images in this directory.
    if (config.own.dataDir) makeDirectory(config.own.dataDir, 0o700)
    this.#storage ??= path === undefined ? createCopyStorage() : createDirectoryStorage(path)
    const storage = this.#storage
    const log = createPinoLog({ level: config.log.level, format: 'json', sink: fileSink(logFile) })
    this.#shared = this.#memory?.connect(systemClock)
    try {
      this.#server = await startServerFrom(config, log, {
        sharedLog: this.#shared,
        network: this.#network.begin(),
        openStorage: () => storage.open(),
      })
    } catch (error) {
      const code = error instanceof StartFailure && error.reason === 'taken' ? 'conflict' : 'remote'
      throw new LabError(code, error instanceof Error ? error.message : String(error), { cause: error })
    }
  }

  /** Stops the server as SIGTERM does. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    await server?.close()
  }

  /** Stops the server as SIGKILL does: its disk and sockets disappear at once. */
  async crash(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    this.#storage?.kill()
    this.#shared?.crash()
    this.#network.cut()
    // Closing fails on the dead disk. Only ports and timers must be released.
    await server?.close(0).catch(() => undefined)
    await this.#storage?.release()
  }
}

/** The servers of a lab that share the process of its daemon. None runs until it is started. */
export class HostedServers implements ServerHost {
  readonly #servers: ReadonlyMap<string, HostedServer>
  readonly #turns = new KeyedLock()
  #isClosed = false

  constructor(files: readonly HostedFiles[]) {
    const clusters = new Set(files.flatMap(({ cluster }) => cluster ?? []))
    const memories = new Map(
      [...clusters].map((name) => [name, new SharedMemory({ clock: systemClock, leaseMs: NODE_LEASE_MS })]),
    )
    this.#servers = new Map(files.map((one) => [one.name, new HostedServer(one, memories.get(one.cluster ?? ''))]))
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
