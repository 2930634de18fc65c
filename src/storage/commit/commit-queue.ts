import { LIMITS } from '../../base/limits.js'

export interface QueuedUnit {
  /** Adjacent units with the same `joins` value share a commit. A unit without a value is committed alone. */
  readonly joins: 'own' | 'applied' | undefined
  readonly bytes: number
  reject(error: unknown): void
}

/**
 * Runs one commit at a time. Units that arrive during a commit join the next commit, in order. A unit is never split.
 * If a commit fails, all queued units fail with the same error, because they may depend on the lost data.
 */
export class CommitQueue<U extends QueuedUnit> {
  readonly #commit: (units: readonly U[]) => Promise<void>
  readonly #onFailure: (error: unknown) => void
  #waiting: U[] = []
  #running: Promise<void> | undefined

  constructor(commit: (units: readonly U[]) => Promise<void>, onFailure: (error: unknown) => void) {
    this.#commit = commit
    this.#onFailure = onFailure
  }

  push(unit: U): void {
    this.#waiting.push(unit)
    this.#running ??= this.#run()
  }

  /** Resolves when no unit is queued and no commit is running. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  async #run(): Promise<void> {
    // Writers in the same event-loop turn join the first commit.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const units = this.#take()
      try {
        await this.#commit(units)
      } catch (error) {
        const lost = [...units, ...this.#waiting]
        this.#waiting = []
        this.#onFailure(error)
        for (const unit of lost) unit.reject(error)
      }
    }
    this.#running = undefined
  }

  #take(): U[] {
    const first = this.#waiting[0]
    let count = 1
    if (first?.joins !== undefined) {
      let bytes = first.bytes
      for (; count < this.#waiting.length; count++) {
        const next = this.#waiting[count]
        if (next === undefined || next.joins !== first.joins) break
        bytes += next.bytes
        if (bytes > LIMITS.commitBytesMax) break
      }
    }
    return this.#waiting.splice(0, count)
  }
}
