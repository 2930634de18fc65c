import type { ChildProcess } from 'node:child_process'
import { askChild, endChild, forkScript } from '../child.js'
import type { Generator } from '../load/generator.js'

/** What the platform itself can do on this machine at this moment. */
export class Yardsticks {
  readonly #commits: ChildProcess = forkScript('yardsticks/commit-worker.ts')
  readonly #echo: ChildProcess = forkScript('yardsticks/echo-worker.ts')
  readonly #stack: ChildProcess
  readonly #generator: Generator

  constructor(generator: Generator, dist: string) {
    this.#generator = generator
    this.#stack = forkScript('yardsticks/stack-worker.ts', [dist])
  }

  /** Durable commits a second of so many writers. */
  async rawCommits(writers: number, seconds: number): Promise<number> {
    return (await askChild<{ rate: number }>(this.#commits, { kind: 'commit', writers, seconds })).rate
  }

  /** Keys a second that the engine reads in order. */
  async rawScan(keys: number): Promise<number> {
    return (await askChild<{ rate: number }>(this.#commits, { kind: 'scan', keys })).rate
  }

  async bareHttp(connections: number, seconds: number): Promise<number> {
    const port = await askChild<number>(this.#echo, {})
    const body = '{"username":"app","password":"0123456789abcdef0123456789abcdef"}'
    return (await this.#generator.load({ port, method: 'PUT', path: '/v1/kv1/k1', body }, connections, seconds)).rate
  }

  /** The same request to the program's front alone. */
  async front(connections: number, seconds: number): Promise<number> {
    const port = await askChild<number>(this.#stack, {})
    const body = '{"username":"app","password":"0123456789abcdef0123456789abcdef"}'
    return (await this.#generator.load({ port, method: 'PUT', path: '/v1/kv1/k1', body }, connections, seconds)).rate
  }

  close(): void {
    for (const child of [this.#commits, this.#echo, this.#stack]) endChild(child)
  }
}
