import type { ChildProcess } from 'node:child_process'
import { askChild, endChild, forkScript } from '../child.js'
import { SECRET } from '../clusters.js'
import type { Generator } from '../load/generator.js'

/** The measured speed of the platform on this machine. */
export class Yardsticks {
  readonly #commits: ChildProcess = forkScript('yardsticks/commit-worker.ts')
  readonly #echo: ChildProcess = forkScript('yardsticks/echo-worker.ts')
  readonly #stack: ChildProcess
  readonly #generator: Generator

  constructor(generator: Generator, dist: string) {
    this.#generator = generator
    this.#stack = forkScript('yardsticks/stack-worker.ts', [dist])
  }

  /** Returns durable commits per second with this number of writers. */
  async rawCommits(writers: number, seconds: number): Promise<number> {
    return (await askChild<{ rate: number }>(this.#commits, { kind: 'commit', writers, seconds })).rate
  }

  /** Keys per second that the engine reads in order. */
  async rawScan(keys: number): Promise<number> {
    return (await askChild<{ rate: number }>(this.#commits, { kind: 'scan', keys })).rate
  }

  /** Bare node:http: requests per second, and processor time of one request. */
  bareHttp(connections: number, seconds: number): Promise<{ rate: number; cpuMicros: number }> {
    return this.#request(this.#echo, connections, seconds)
  }

  /** The HTTP layer of the program alone: requests per second, and processor time of one request. */
  front(connections: number, seconds: number): Promise<{ rate: number; cpuMicros: number }> {
    return this.#request(this.#stack, connections, seconds)
  }

  async #request(child: ChildProcess, connections: number, seconds: number) {
    const port = await askChild<number>(child, {})
    const work = { port, method: 'PUT', path: '/v1/kv1/k1', body: JSON.stringify(SECRET) }
    return this.#generator.loadWithCpu(child.pid ?? 0, work, connections, seconds)
  }

  close(): void {
    for (const child of [this.#commits, this.#echo, this.#stack]) endChild(child)
  }
}
