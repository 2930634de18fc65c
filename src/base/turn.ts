/** Resolves after all pending events were handled. For work in slices that never waits for I/O. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    slices.waiting++
    setImmediate(() => {
      slices.waiting--
      resolve()
    })
  })

const slices = { waiting: 0 }

/** Runs a system operation, for example writing a file, that takes no simulated time. */
export const inNoTime = async <T>(work: () => Promise<T>): Promise<T> => {
  const done = work()
  underWay.add(done)
  try {
    return await done
  } finally {
    underWay.delete(done)
  }
}

const underWay = new Set<Promise<unknown>>()

/**
 * Waits for one turn. Returns false while work in slices or a system operation is pending: simulated time must not
 * advance then.
 */
export const idleTurn = async (): Promise<boolean> => {
  await new Promise<void>((resolve) => void setImmediate(resolve))
  const [first] = underWay
  // Waits for the operation, because busy waiting would take the processor from it.
  await first?.catch(() => undefined)
  return first === undefined && slices.waiting === 0
}

/** Yields to the event loop between two steps that each process this number of bytes. Does not yield for few bytes. */
export const yieldToEventLoop = async (bytes: number): Promise<void> => {
  if (bytes > SLOW_BYTES) await nextTurn()
}

/** From this size on, reading or printing a text takes at least a millisecond. */
const SLOW_BYTES = 256 * 1024

/** Yields pieces that can each be hashed or written within a few milliseconds. */
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
 * Collects small tasks and runs them in order after the event loop has handled its pending events. For system calls
 * that are cheaper together than in separate turns. No task waits longer than the current turn of the loop.
 */
export class TurnEnd {
  #tasks: Task[] = []

  /** Resolves when `run` was called. Rejects with its error. */
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
