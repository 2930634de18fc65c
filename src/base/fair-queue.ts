/** The owner of a job. The queue serves the sources in turn, and the names of a source in turn. */
export interface JobOwner {
  /** The origin of the job, such as the address of a client. */
  readonly source: string
  readonly name: string
}

interface FairQueueLimits {
  readonly waitingMax: number
  readonly perSourceMax: number
}

type Names<Job> = Map<string, Job[]>

/** Jobs that wait for one worker. A source with many jobs delays only its own jobs. */
export class FairQueue<Job> {
  readonly #limits: FairQueueLimits
  /** The sources in the order in which they are served. */
  readonly #sources = new Map<string, Names<Job>>()
  #size = 0

  constructor(limits: FairQueueLimits) {
    this.#limits = limits
  }

  /**
   * Adds a job. If too many jobs wait, removes and returns the oldest job of the source and name with the most jobs.
   */
  add(job: Job, { source, name }: JobOwner): Job | undefined {
    const names = this.#sources.get(source) ?? new Map<string, Job[]>()
    this.#sources.set(source, names)
    names.set(name, [...(names.get(name) ?? []), job])
    this.#size += 1
    const isOver = countOf(names) > this.#limits.perSourceMax
    if (!isOver && this.#size <= this.#limits.waitingMax) return undefined
    const largest = isOver ? source : longest(this.#sources, countOf)
    return this.#take(
      largest,
      longest(this.#sources.get(largest) ?? new Map<string, Job[]>(), ({ length }) => length),
    )
  }

  /** Removes and returns the next job; undefined if the queue is empty. */
  shift(): Job | undefined {
    const [source] = this.#sources.keys()
    const [name] = (source !== undefined && this.#sources.get(source)?.keys()) || []
    return source === undefined || name === undefined ? undefined : this.#take(source, name)
  }

  /** Removes and returns all waiting jobs. */
  clear(): Job[] {
    const all: Job[] = []
    for (let job = this.shift(); job !== undefined; job = this.shift()) all.push(job)
    return all
  }

  /** Removes and returns the next job of a source and name, and moves both to the end of their queues. */
  #take(source: string, name: string): Job | undefined {
    const names = this.#sources.get(source)
    const [job, ...rest] = names?.get(name) ?? []
    names?.delete(name)
    if (rest.length > 0) names?.set(name, rest)
    this.#sources.delete(source)
    if (names && names.size > 0) this.#sources.set(source, names)
    if (job !== undefined) this.#size -= 1
    return job
  }
}

const countOf = (names: ReadonlyMap<string, readonly unknown[]>): number =>
  [...names.values()].reduce((sum, { length }) => sum + length, 0)

/** Returns the first key with the largest measure. */
const longest = <Value>(map: ReadonlyMap<string, Value>, measure: (value: Value) => number): string => {
  let found = ''
  let most = 0
  for (const [key, value] of map) {
    if (measure(value) <= most) continue
    most = measure(value)
    found = key
  }
  return found
}
