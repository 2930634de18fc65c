import type { Clock } from '../../base/clock.js'
import { type ProcessIdentity, identify } from '../model/process-identity.js'
import type { ProcessFacts, ProcessTable } from '../model/process-table.js'

/**
 * Finds and signals the servers of labs, and nothing else. A process is a lab's server when it was started with that
 * server's configuration file, whose name holds a random word; a recorded number alone says nothing, since numbers are given
 * out again.
 */
export class ServerProcesses {
  readonly #table: ProcessTable
  readonly #clock: Clock

  constructor(table: ProcessTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
  }

  /** The server with this configuration file: the recorded process if it is that, else whatever process is. */
  find(configFile: string, recorded?: ProcessIdentity): ProcessFacts | undefined {
    const isOurs = (facts: ProcessFacts) => facts.hasArgument(configArgument(configFile))
    const known = recorded && this.#table.find(recorded.pid)
    if (known && known.startTime === recorded.startTime && isOurs(known)) return known
    return this.#table.list().find(isOurs)
  }

  /** Servers by their configuration files, looked up together. */
  findAll(configFiles: readonly string[]): ProcessFacts[] {
    const wanted = configFiles.map(configArgument)
    return this.#table.list().filter((facts) => wanted.some((argument) => facts.hasArgument(argument)))
  }

  /** False when it is gone, or its number belongs to somebody else by now. */
  signal({ pid, startTime }: ProcessIdentity, name: NodeJS.Signals): boolean {
    if (this.#table.find(pid)?.startTime !== startTime) return false
    try {
      return process.kill(pid, name)
    } catch {
      return false
    }
  }

  identify(pid: number): ProcessIdentity | undefined {
    return identify(this.#table, pid)
  }

  /**
   * Asks servers to stop, wakes those that are frozen so that they can, and waits until all are gone. What is still there
   * after `graceMs`, or when `hurry` is aborted, is killed. `onSlow` is told once, after a second, how many are left.
   */
  async stop(processes: readonly ProcessIdentity[], options: StopOptions): Promise<void> {
    const { graceMs, hurry, onSlow } = options
    const started = this.#clock.monotonic()
    let isSlowTold = false
    const isThere = (identity: ProcessIdentity) => this.#table.find(identity.pid)?.startTime === identity.startTime
    for (const one of processes) {
      this.signal(one, 'SIGTERM')
      this.signal(one, 'SIGCONT')
    }
    for (let left = processes.filter(isThere); left.length > 0; left = left.filter(isThere)) {
      const passedMs = this.#clock.monotonic() - started
      if (passedMs >= graceMs || hurry?.aborted) for (const one of left) this.signal(one, 'SIGKILL')
      if (passedMs >= SLOW_MS && !isSlowTold) {
        isSlowTold = true
        onSlow?.(left.length)
      }
      await this.#clock.sleep(POLL_MS)
    }
  }
}

interface StopOptions {
  readonly graceMs: number
  readonly hurry?: AbortSignal | undefined
  readonly onSlow?: (left: number) => void
}

const POLL_MS = 20
const SLOW_MS = 1000

export const configArgument = (configFile: string): string => `-config=${configFile}`
