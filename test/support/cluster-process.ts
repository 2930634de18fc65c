import { readFileSync } from 'node:fs'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { makeDirectory } from '../../src/base/make-directory.js'
import {
  isRunning,
  lastLogLines,
  launchServer,
  signal,
  writeServerConfig,
} from '../../src/lab/processes/child-process.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import type { ClusterServer, ProcessPlan } from './cluster-server.js'

const EXIT_MS = 60_000

/** A server of ours as a process that is started, killed, frozen and started again on the same directory and ports. */
export class ClusterProcess implements ClusterServer {
  readonly dataDir: string
  readonly #plan: ProcessPlan
  #pid: number | undefined

  constructor(plan: ProcessPlan) {
    this.#plan = plan
    this.dataDir = path.join(plan.directory, 'data')
  }

  get clusterPort(): number {
    return this.#plan.ports.cluster
  }

  get pid(): number {
    if (this.#pid === undefined) throw new Error(`cluster ${this.#plan.name} was never started`)
    return this.#pid
  }

  get isRunning(): boolean {
    return this.#pid !== undefined && isRunning(this.#pid)
  }

  /**
   * Resident memory now, in bytes: the process's own, and with the pages of database files that it has mapped, which are
   * the kernel's cache and go when somebody needs the room.
   */
  get memory(): { readonly ownBytes: number; readonly totalBytes: number } {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    const bytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
    return { ownBytes: bytes('RssAnon'), totalBytes: bytes('VmRSS') }
  }

  get lastLogLines(): string {
    return lastLogLines(this.logFile)
  }

  get logFile(): string {
    return path.join(this.#plan.directory, 'server.log')
  }

  async start(): Promise<void> {
    const { directory, name } = this.#plan
    const { dataDir, logFile } = this
    const files = { dataDir, logFile, configFile: path.join(directory, 'server.json') }
    makeDirectory(directory, 0o700)
    writeServerConfig(this.#plan, files)
    this.#pid = launchServer(name, files).pid
  }

  signal(name: NodeJS.Signals): void {
    signal(this.pid, name)
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  crash(): Promise<void> {
    return this.#end('SIGKILL')
  }

  async close(): Promise<void> {
    if (!this.isRunning) return
    this.signal('SIGCONT')
    await this.stop().catch(() => this.crash())
  }

  /** Sends a signal that ends the process and waits until it has ended. */
  async #end(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.signal(name)
    const isGone = async () => (this.isRunning ? `pid ${this.pid} runs` : undefined)
    await waitFor(systemClock, `cluster ${this.#plan.name} to end after ${name}`, isGone, EXIT_MS)
  }
}
