/** Resolves in the next turn of the event loop, after all pending events. For long computations that run in slices. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    slices.waiting++
    setImmediate(() => {
      slices.waiting--
      resolve()
    })
  })

const slices = { waiting: 0 }

/** Runs a system operation, such as the write of a file, during which simulated time stands still. */
export const inNoTime = async <T>(work: () => Promise<T>): Promise<T> => {
  const done = work()
  pending.add(done)
  try {
    return await done
  } finally {
    pending.delete(done)
  }
}

const pending = new Set<Promise<unknown>>()

/** True if neither work in slices nor a system operation is pending, so that simulated time may advance. */
const isIdle = (): boolean => pending.size === 0 && slices.waiting === 0

/** Waits for pending system operations, because repeated turns would take processor time from them. */
const awaitPending = async (): Promise<void> => {
  const [first] = pending
  await first?.catch(() => undefined)
}

/**
 * Waits for one turn of the event loop. Returns false if work in slices or a system operation is pending, so that
 * simulated time must not advance.
 */
export const idleTurn = async (): Promise<boolean> => {
  await new Promise<void>((resolve) => void setImmediate(resolve))
  const wasIdle = isIdle()
  await awaitPending()
  return wasIdle
}

/**
 * Calls `step` up to `STEPS_MAX` times in one turn of the event loop, each time after all promise callbacks of the
 * previous step. Stops when `step` returns false or throws, or when simulated time must not advance. A turn per step
 * would take several times as long.
 */
export const stepsInTurn = async (step: () => boolean): Promise<void> => {
  await new Promise<void>((resolve, reject) => {
    let isStopped = false
    const next = () => {
      if (isStopped) return
      try {
        isStopped = !isIdle() || !step()
      } catch (error) {
        isStopped = true
        reject(error)
      }
    }
    for (let n = 0; n < STEPS_MAX; n++) setImmediate(next)
    setImmediate(resolve)
  })
  await awaitPending()
}

const STEPS_MAX = 32

/**
 * Yields to the event loop between two steps that each process this number of bytes. Does nothing for a small number.
 */
export const yieldToEventLoop = async (bytes: number): Promise<void> => {
  if (bytes > SLOW_BYTES) await nextTurn()
}

/** Parsing or printing a text of this size takes at least a millisecond. */
const SLOW_BYTES = 256 * 1024

/** Yields the parts in pieces, each of which can be hashed or written within a few milliseconds. */
export function* piecesOf(...parts: readonly Buffer[]): Generator<Buffer> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_BYTES) yield part.subarray(at, at + PIECE_BYTES)
  }
}

export const PIECE_BYTES = 1024 * 1024

interface Task {
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Collects small tasks, and runs them in order at the end of the current turn of the event loop. For system calls that
 * take less time together than in separate turns.
 */
export class TurnEnd {
  #tasks: Task[] = []

  /** Adds a task. Resolves when `run` has been called. Rejects with the error of `run`. */
  add(run: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#tasks.length === 0) setImmediate(() => this.#runAll())
      this.#tasks.push({ run, resolve, reject })
    })
  }

  #runAll(): void {
    const tasks = this.#tasks
    this.#tasks = []
    for (const { run, resolve, reject } of tasks) {
      try {
        run()
        resolve()
      } catch (error) {
        reject(error)
      }
    }
  }
}
