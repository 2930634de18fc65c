import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { bundle } from './bundle.js'
import type { Played } from './played.js'

/** Number of seeds in progress per player, so that no player has to wait. */
const AHEAD = 4

/** Processes that play seeds in parallel; by default one per core. */
export class Players implements AsyncDisposable {
  readonly #file: string
  readonly #players: readonly Player[]

  private constructor(file: string, count: number) {
    this.#file = file
    this.#players = Array.from({ length: count }, () => new Player(file))
  }

  static async start(count = availableParallelism()): Promise<Players> {
    return new Players(await bundle('player.ts', 'player'), count)
  }

  /** Yields the result of each seed, in the order of the seeds. */
  async *play(seeds: Iterable<number>): AsyncGenerator<Played> {
    const underWay: Promise<Played>[] = []
    let given = 0
    for (const seed of seeds) {
      const player = this.#players[given++ % this.#players.length]
      if (player) underWay.push(player.play(seed))
      if (underWay.length >= AHEAD * this.#players.length) yield* underWay.splice(0, 1)
    }
    yield* underWay
  }

  /** The seeds that are being played, one per process. */
  get underWay(): readonly number[] {
    return this.#players.flatMap((player) => player.underWay ?? [])
  }

  /** Ends the processes, even if they are playing. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#players.map((player) => player.end()))
    rmSync(this.#file)
  }
}

/** Time after which a process is killed: one in an infinite loop does not read the request to end. */
const LEAVING_MS = 2000

/** A waiter for the result of a seed. */
interface Waiting {
  readonly seed: number
  readonly resolve: (played: Played) => void
  readonly reject: (error: Error) => void
}

class Player {
  readonly #child: ChildProcess
  /** In the order of the seeds. */
  readonly #waiting: Waiting[] = []
  readonly #kill = (): void => void this.#child.kill('SIGKILL')

  constructor(file: string) {
    this.#child = fork(file, { execArgv: [] })
    this.#child.on('message', (played) => this.#waiting.shift()?.resolve(played as Played))
    process.once('exit', this.#kill)
    this.#child.once('exit', (code) => {
      process.off('exit', this.#kill)
      for (const { reject } of this.#waiting) reject(new Error(`a process that plays seeds has ended with ${code}`))
    })
  }

  get underWay(): number | undefined {
    return this.#waiting[0]?.seed
  }

  play(seed: number): Promise<Played> {
    const played = new Promise<Played>((resolve, reject) => {
      this.#waiting.push({ seed, resolve, reject })
      this.#child.send(seed)
    })
    // The waiter receives the rejection when its turn comes.
    played.catch(() => undefined)
    return played
  }

  async end(): Promise<void> {
    if (!this.#child.connected) return
    const gone = once(this.#child, 'exit')
    this.#child.disconnect()
    const late = setTimeout(this.#kill, LEAVING_MS)
    await gone
    clearTimeout(late)
  }
}
