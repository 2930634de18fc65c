/** Resolves when whatever waits for the processor has had its turn: for work in slices that never waits for a disk. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    slices.waiting++
    setImmediate(() => {
      slices.waiting--
      resolve()
    })
  })

const slices = { waiting: 0 }

/** What the system does for somebody, such as the write of a file. It takes no time that is simulated. */
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

/** Waits for a turn. False while somebody works in slices or waits for the system: then no simulated time passes. */
export const idleTurn = async (): Promise<boolean> => {
  await new Promise<void>((resolve) => void setImmediate(resolve))
  const [first] = underWay
  // It needs the processor as well, so nobody spins meanwhile.
  await first?.catch(() => undefined)
  return first === undefined && slices.waiting === 0
}

/** Between two steps of work on so many bytes: large ones let others have their turn, small ones are not worth it. */
export const turnFor = async (bytes: number): Promise<void> => {
  if (bytes > SLOW_BYTES) await nextTurn()
}

/** From this size on it takes a millisecond or more to read or print a text. */
const SLOW_BYTES = 256 * 1024

/** The bytes in pieces that are hashed or written within a few milliseconds each. */
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
 * Does small things together when the event loop has handled what it had at hand, in the order they were given. It is for
 * system calls that are cheaper in a row than each by itself. Nothing is held longer than this turn of the loop.
 */
export class TurnEnd {
  #tasks: Task[] = []

  /** Resolves when `run` was called, and rejects with what it threw. */
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
