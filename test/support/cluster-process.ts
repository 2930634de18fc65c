import { readFileSync } from 'node:fs'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { isRunning, lastLogLines, type ServerPlan, signal, startServer } from '../../src/lab/runner/child-process.js'
import { waitFor } from '../../src/lab/wait.js'

const EXIT_MS = 15_000

/** A server of ours as a process that is started, killed, frozen and started again on the same directory and ports. */
export class ClusterProcess {
  readonly dataDir: string
  readonly #plan: ServerPlan
  #pid: number | undefined

  constructor(plan: ServerPlan) {
    this.#plan = plan
    this.dataDir = path.join(plan.directory, 'data')
  }

  /** Of the cluster port itself, behind whatever is advertised. */
  get clusterPort(): number {
    return this.#plan.clusterPort
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

  /** The end of the log, to be shown when something failed. */
  get lastLogLines(): string {
    return lastLogLines(path.join(this.#plan.directory, 'server.log'))
  }

  get logFile(): string {
    return path.join(this.#plan.directory, 'server.log')
  }

  start(): void {
    this.#pid = startServer(this.#plan).pid
  }

  signal(name: NodeJS.Signals): void {
    signal(this.pid, name)
  }

  /** Sends a signal that ends the process and waits until it has ended. */
  async end(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.signal(name)
    const isGone = async () => (this.isRunning ? `pid ${this.pid} runs` : undefined)
    await waitFor(systemClock, `cluster ${this.#plan.name} to end after ${name}`, isGone, EXIT_MS)
  }

  /** Ends the process, cleanly where it still can, and surely. */
  async close(): Promise<void> {
    if (!this.isRunning) return
    this.signal('SIGCONT')
    await this.end('SIGTERM').catch(() => this.end('SIGKILL'))
  }
}
