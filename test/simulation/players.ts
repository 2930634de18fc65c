import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { bundle } from './bundle.js'
import type { Played } from './played.js'

/** So many seeds of each player are under way, so that none has to wait for another one's. */
const AHEAD = 4

/** Processes that play seeds side by side: one for each core, unless another number is asked for. */
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

  /** What came of each seed, in the order of the seeds. */
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

  /** The seeds that are being played now, one of each process. */
  get underWay(): readonly number[] {
    return this.#players.flatMap((player) => player.underWay ?? [])
  }

  /** Ends them, with whatever they play. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#players.map((player) => player.end()))
    rmSync(this.#file)
  }
}

/** One that is in a loop without end does not hear that it is to go. */
const LEAVING_MS = 2000

/** Somebody who waits for what came of a seed. */
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
    // Whoever awaits it hears of it, when it is its turn.
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
