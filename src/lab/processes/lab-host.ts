import { attempt } from '../../base/attempt.js'
import { type Clock, systemClock } from '../../base/clock.js'
import { counted } from '../../base/counted.js'
import { type Wait, whileWaiting } from '../../base/progress.js'
import { LabError } from '../model/lab-error.js'
import {
  createProcessTable,
  identify,
  isAlive,
  type ProcessFacts,
  type ProcessIdentity,
  type ProcessTable,
} from '../model/process-table.js'

/** This machine, as used by lab commands. */
export interface LabHost {
  readonly clock: Clock
  readonly table: ProcessTable
  readonly servers: ServerProcesses
  /** The process of the command itself. */
  readonly me: ProcessIdentity
}

export const thisHost = (): LabHost => {
  const clock = systemClock
  const table = createProcessTable()
  const me = identify(table, process.pid)
  if (!me) throw new LabError('usage', 'this system cannot list processes: it has neither /proc nor "ps"')
  return { clock, table, servers: new ServerProcesses(table, clock), me }
}

/**
 * Finds and signals only server processes of labs. A process is a lab's server if its command line contains that
 * server's configuration file, whose name contains a random word. A recorded process ID alone is not sufficient, since
 * IDs are reused.
 */
class ServerProcesses {
  readonly #table: ProcessTable
  readonly #clock: Clock

  constructor(table: ProcessTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
  }

  /** Finds the server with this configuration file: first the recorded process, then any other. */
  find(configFile: string, recorded?: ProcessIdentity): ProcessFacts | undefined {
    const isOurs = (facts: ProcessFacts) => facts.hasArgument(configArgument(configFile))
    const known = recorded && this.#table.find(recorded.pid)
    if (known && known.startTime === recorded.startTime && isOurs(known)) return known
    return this.#table.list().find(isOurs)
  }

  /** Finds several servers by configuration file in one lookup. */
  findAll(configFiles: readonly string[]): ProcessFacts[] {
    const wanted = configFiles.map(configArgument)
    return this.#table.list().filter((facts) => wanted.some((argument) => facts.hasArgument(argument)))
  }

  /** Sends a signal. Returns false if the process no longer exists or its ID was reused. */
  signal(identity: ProcessIdentity, name: NodeJS.Signals): boolean {
    return attempt(() => isAlive(this.#table, identity) && process.kill(identity.pid, name)) ?? false
  }

  identify(pid: number): ProcessIdentity | undefined {
    return identify(this.#table, pid)
  }

  /**
   * Stops servers, resuming suspended ones, and waits until all have exited. Kills the rest after `graceMs`, or when
   * `forceSignal` is aborted.
   */
  stop(processes: readonly ProcessIdentity[], options: StopOptions): Promise<void> {
    return whileWaiting(`${counted(processes.length, 'process', 'processes')} to stop`, (wait) =>
      this.#stop(processes, options, wait),
    )
  }

  async #stop(processes: readonly ProcessIdentity[], { graceMs, forceSignal }: StopOptions, wait: Wait): Promise<void> {
    const started = this.#clock.monotonic()
    const isThere = (identity: ProcessIdentity) => isAlive(this.#table, identity)
    for (const one of processes) {
      this.signal(one, 'SIGTERM')
      this.signal(one, 'SIGCONT')
    }
    for (let left = processes.filter(isThere); left.length > 0; left = left.filter(isThere)) {
      const passedMs = this.#clock.monotonic() - started
      if (passedMs >= graceMs || forceSignal?.aborted) for (const one of left) this.signal(one, 'SIGKILL')
      wait.missing = `${left.length} left`
      await this.#clock.sleep(POLL_MS)
    }
  }
}

interface StopOptions {
  readonly graceMs: number
  readonly forceSignal?: AbortSignal | undefined
}

const POLL_MS = 20

export const configArgument = (configFile: string): string => `-config=${configFile}`
