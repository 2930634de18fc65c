import { systemClock } from '../../base/clock.js'
import { makeDirectory } from '../../base/make-directory.js'
import { createPinoLog, fileSink } from '../../base/pino-log.js'
import { messageOf } from '../../base/printable.js'
import { createSystemRandom, type Random } from '../../base/random.js'
import { loadServerConfig } from '../../server/config/server-config.js'
import { SharedMemory } from '../../server/data/shared-memory.js'
import { createCopyStorage, createDirectoryStorage, type ServerStorage } from '../../server/data/server-storage.js'
import type { Server } from '../../server/server.js'
import { StartFailure, startServerFrom } from '../../server/start.js'
import type { HostedFiles, HostedVerb, ServerHost } from '../daemon/run-lab-daemon.js'
import { LabError } from '../model/lab-error.js'
import { NODE_LEASE_MS } from '../model/settings.js'
import { configArgument } from '../processes/lab-host.js'
import { Links } from '../links/links.js'
import { ServerHandle } from '../runner/server-handle.js'

/**
 * One server of a lab whose servers share a process. Like a server in a separate process, it reads a configuration file
 * and stores its data on disk.
 */
class HostedServer extends ServerHandle {
  readonly #files: HostedFiles
  readonly #random: Random
  /**
   * A random source for requests, so that polling by the lab daemon does not change the keys that the seed determines.
   */
  readonly #requestRandom = createSystemRandom()
  #storage: ServerStorage | undefined

  /** `shared`: the memory that the nodes of a multi-node cluster share. */
  constructor(files: HostedFiles, random: Random, shared?: SharedMemory) {
    super({ shared, network: new Links().networkOf(''), clock: systemClock })
    this.#files = files
    this.#random = random
  }

  /** Rejects with LabError `conflict` if another process uses its ports or data. */
  protected async open(): Promise<Server> {
    const { name, configFile, logFile } = this.#files
    const { config, problems } = loadServerConfig([configArgument(configFile)], { VAULT_RAFT_NODE_ID: name })
    if (!config) throw new LabError('usage', problems.map(({ text }) => text).join('; '))
    const { path } = config.storage
    if (path === undefined && this.#files.cluster === undefined)
      throw new LabError('usage', `${configFile} has no data directory: set the path of its storage`)
    // A node stores its data in memory, and its images in this directory.
    if (config.own.dataDir) makeDirectory(config.own.dataDir, 0o700)
    this.#storage ??= path === undefined ? createCopyStorage() : createDirectoryStorage(path)
    const sink = createPinoLog({ level: config.log.level, format: 'json', sink: fileSink(logFile) })
    const { log, ...parts } = this.begin(this.#storage, sink)
    try {
      return await startServerFrom(config, log, {
        ...parts,
        random: this.#random,
        requestRandom: this.#requestRandom,
      })
    } catch (error) {
      const code = error instanceof StartFailure && error.reason === 'taken' ? 'conflict' : 'remote'
      throw new LabError(code, messageOf(error), { cause: error })
    }
  }
}

/** The servers of a lab that share the process of its daemon. All servers are stopped at first. */
export class HostedServers implements ServerHost {
  readonly #servers: ReadonlyMap<string, HostedServer>

  /** `randomFor` returns the random source of a server, which all runs of the server share. */
  constructor(files: readonly HostedFiles[], randomFor: (name: string) => Random) {
    const clusters = new Set(files.flatMap(({ cluster }) => cluster ?? []))
    const memories = new Map(
      [...clusters].map((name) => [name, new SharedMemory({ clock: systemClock, leaseMs: NODE_LEASE_MS })]),
    )
    this.#servers = new Map(
      files.map((one) => [one.name, new HostedServer(one, randomFor(one.name), memories.get(one.cluster ?? ''))]),
    )
  }

  async work(name: string, verb: HostedVerb): Promise<void> {
    const names = [...this.#servers.keys()].join(', ')
    const server = this.#servers.get(name)
    if (!server) throw new LabError('usage', `this process has no server ${name}; its servers are ${names}`)
    await server[verb]()
  }

  /** Stops all servers as SIGTERM does. Later starts reject with LabError `conflict`. */
  async close(): Promise<void> {
    const reason = new LabError('conflict', 'the lab is stopping')
    await Promise.all([...this.#servers.values()].map((server) => server.end(reason)))
  }
}
