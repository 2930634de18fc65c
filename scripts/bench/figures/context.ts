import type { Figure } from '../goals.js'
import type { Generator } from '../load/generator.js'
import type { BenchServer, ServerOptions } from '../servers.js'

export interface CpuRow {
  readonly work: string
  /** What the whole process spends on a request, all threads together. */
  readonly micros: number
  /** The same of the program of `--beside`, asked in turns with this one. */
  readonly besideMicros: number | undefined
  /** As a multiple of what bare node:http spends on one. */
  readonly ofBare: number
  /** In microseconds on the machine where the goals were set, as `aim`: see `BARE_MICROS`. */
  readonly must: number
  readonly aim: number
}

/** What every part of the bench is given. */
export interface Bench {
  readonly generator: Generator
  readonly rounds: number
  readonly seconds: number
  readonly dist: string
  readonly program: string
  /** Another build of it, to compare with. */
  readonly beside: string | undefined
  /** Parts of the names of the requests that are asked for, in lower case; an empty one is in every name. */
  readonly requests: readonly string[]
  readonly syncKeys: number
  readonly scaleKeys: number
  readonly isQuick: boolean
  /** A new open server; it is removed at the end, however the bench ends. */
  server(name: string, options?: Partial<ServerOptions>): Promise<BenchServer>
  /** The same, neither started nor initialized. */
  unopened(name: string, options?: Partial<ServerOptions>): Promise<BenchServer>
  /** One measurement of a figure; the table shows the median of all. */
  add(figure: Figure, value: number): void
  /** A number that has no goal, under a name of its own. */
  note(name: string, value: number, unit: string): void
  addCpu(row: CpuRow): void
  say(text: string): void
}
