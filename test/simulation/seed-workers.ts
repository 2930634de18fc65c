import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { bundle } from './bundle.js'
import type { SeedResult } from './seed-result.js'

/** Number of seeds in progress per player, so that no player has to wait. */
const AHEAD = 4

/** Processes that play seeds in parallel; by default one per core. */
export class SeedWorkers implements AsyncDisposable {
  readonly #file: string
  readonly #workers: readonly SeedWorker[]

  private constructor(file: string, count: number) {
    this.#file = file
    this.#workers = Array.from({ length: count }, () => new SeedWorker(file))
  }

  static async start(count = availableParallelism()): Promise<SeedWorkers> {
    return new SeedWorkers(await bundle('seed-worker.ts', 'seed-worker'), count)
  }

  /** Yields the result of each seed, in the order of the seeds. */
  async *play(seeds: Iterable<number>): AsyncGenerator<SeedResult> {
    const pending: Promise<SeedResult>[] = []
    let given = 0
    for (const seed of seeds) {
      const worker = this.#workers[given++ % this.#workers.length]
      if (worker) pending.push(worker.play(seed))
      if (pending.length >= AHEAD * this.#workers.length) yield* pending.splice(0, 1)
    }
    yield* pending
  }

  /** The seeds that are being played, one per process. */
  get pending(): readonly number[] {
    return this.#workers.flatMap((worker) => worker.pending ?? [])
  }

  /** Ends the processes, even if they are playing. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end()))
    rmSync(this.#file)
  }
}

/** Time after which a process is killed: one in an infinite loop does not read the request to end. */
const EXIT_MS = 2000

/** A waiter for the result of a seed. */
interface Waiter {
  readonly seed: number
  readonly resolve: (result: SeedResult) => void
  readonly reject: (error: Error) => void
}

/**
 * Size of each half of the space for new objects, in MiB. On a busy machine, V8 shrinks it to 1 MiB, and then collects
 * garbage every few milliseconds.
 */
const NEW_SPACE_MIB = 32
const WORKER_FLAGS = [`--min-semi-space-size=${NEW_SPACE_MIB}`, `--max-semi-space-size=${NEW_SPACE_MIB}`]

class SeedWorker {
  readonly #child: ChildProcess
  /** In the order of the seeds. */
  readonly #waiting: Waiter[] = []
  readonly #kill = (): void => void this.#child.kill('SIGKILL')

  constructor(file: string) {
    this.#child = fork(file, { execArgv: WORKER_FLAGS })
    this.#child.on('message', (result) => this.#waiting.shift()?.resolve(result as SeedResult))
    process.once('exit', this.#kill)
    this.#child.once('exit', (code) => {
      process.off('exit', this.#kill)
      for (const { reject } of this.#waiting) reject(new Error(`a process that plays seeds has ended with ${code}`))
    })
  }

  get pending(): number | undefined {
    return this.#waiting[0]?.seed
  }

  play(seed: number): Promise<SeedResult> {
    const result = new Promise<SeedResult>((resolve, reject) => {
      this.#waiting.push({ seed, resolve, reject })
      this.#child.send(seed)
    })
    // The waiter receives the rejection when its turn comes.
    result.catch(() => undefined)
    return result
  }

  async end(): Promise<void> {
    if (!this.#child.connected) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    const late = setTimeout(this.#kill, EXIT_MS)
    await exited
    clearTimeout(late)
  }
}
