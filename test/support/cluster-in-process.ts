import path from 'node:path'
import { mkdirSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.js'
import type { LogLevel } from '../../src/base/log.js'
import { createPinoLog, fileSink } from '../../src/base/pino-log.js'
import { createSystemRandom } from '../../src/base/random.js'
import { Links } from '../../src/lab/links/links.js'
import { lastLogLines } from '../../src/lab/processes/child-process.js'
import { InProcessServer } from '../../src/lab/runner/in-process.js'
import { createDirectoryStorage } from '../../src/server/data/server-storage.js'
import type { ClusterServer, ProcessPlan } from './cluster-server.js'

/** A server of ours in the process of the test: the same ports, the same files, no process of its own. */
export class ClusterInProcess implements ClusterServer {
  readonly dataDir: string
  readonly clusterPort: number
  readonly #logFile: string
  readonly #server: InProcessServer

  constructor(plan: ProcessPlan) {
    mkdirSync(plan.directory, { recursive: true, mode: 0o700 })
    this.dataDir = path.join(plan.directory, 'data')
    this.clusterPort = plan.ports.cluster
    this.#logFile = path.join(plan.directory, 'server.log')
    this.#server = new InProcessServer({
      ...plan,
      storage: createDirectoryStorage(this.dataDir),
      // No route is opened here: links stand on advertised addresses, as they do for processes.
      network: new Links().networkOf(plan.name),
      clock: systemClock,
      random: createSystemRandom(),
      log: createPinoLog({
        level: (plan.logLevel ?? 'info') as LogLevel,
        format: 'json',
        sink: fileSink(this.#logFile),
      }),
    })
  }

  get isRunning(): boolean {
    return this.#server.isRunning
  }

  get lastLogLines(): string {
    return lastLogLines(this.#logFile)
  }

  start(): Promise<void> {
    return this.#server.start()
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }

  crash(): Promise<void> {
    return this.#server.crash()
  }

  async close(): Promise<void> {
    await this.stop().catch(() => this.crash())
  }
}
