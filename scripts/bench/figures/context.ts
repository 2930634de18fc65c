import type { Figure } from '../goals.js'
import type { Generator } from '../load/generator.js'
import type { BenchServer, ServerOptions } from '../servers.js'

export interface CpuRow {
  readonly work: string
  /** Processor time of all threads of the server for one request. */
  readonly micros: number
  /** Processor time of the build of `--beside` for one request. Both builds are measured alternately. */
  readonly besideMicros: number | undefined
  /** As a multiple of the processor time of bare node:http. */
  readonly ofBare: number
  /** `must` and `aim` are in microseconds of the reference machine: see `BARE_MICROS`. */
  readonly must: number
  readonly aim: number
}

/** A compiled program whose figures are measured. */
export interface Build {
  /** The directory of the compiled program. */
  readonly dist: string
  /** The file that the command `understudy` runs. */
  readonly program: string
  /** Adds one measurement of a figure. The table shows the median. */
  add(figure: Figure, value: number): void
}

/** The context of every part of the bench. */
export interface Bench {
  /** The program, and the program of `--beside`. Parts that measure both do so alternately. */
  readonly builds: readonly Build[]
  readonly generator: Generator
  readonly rounds: number
  readonly seconds: number
  readonly dist: string
  readonly program: string
  /** Another build to compare with. */
  readonly beside: string | undefined
  /** Lower-case parts of the names of the requests to measure. An empty part matches every name. */
  readonly requests: readonly string[]
  readonly syncKeys: number
  readonly scaleKeys: number
  readonly isQuick: boolean
  /** Starts and unseals a new server. The bench removes it when it exits. */
  server(name: string, options?: Partial<ServerOptions>): Promise<BenchServer>
  /** Prepares a server without starting or initializing it. */
  unopened(name: string, options?: Partial<ServerOptions>): Promise<BenchServer>
  /** Adds one measurement of a figure. The table shows the median. */
  add(figure: Figure, value: number): void
  /** Adds a named number without a goal. */
  note(name: string, value: number, unit: string): void
  addCpu(row: CpuRow): void
  say(text: string): void
}
