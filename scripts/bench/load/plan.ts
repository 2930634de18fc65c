/** Plans and results of the load generator: plain data that crosses a process boundary. */

export interface LoadPlan {
  readonly port: number
  readonly connections: number
  /** Duration of the measurement, after the warm-up of `warmupSeconds`. */
  readonly seconds: number
  readonly warmupSeconds: number
  readonly method: string
  /** `{n}` is replaced by a number below `spread`, and `{item}` by the next of `items`. */
  readonly path: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly spread: number
  readonly items: readonly string[]
  /**
   * Requests per second of all connections. If undefined, each connection sends the next request after each response.
   */
  readonly ratePerSecond?: number | undefined
  /** Stops the run after this number of responses. */
  readonly answersMax?: number | undefined
}

export interface LoadResult {
  readonly answers: number
  /** All responses, including those of the warm-up. */
  readonly answersInAll: number
  readonly seconds: number
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Responses with a status of 400 or higher. */
  readonly refused: number
  /** Text of the first rejected request. */
  readonly refusal: string
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Writes a key on one server, and reads it from another server until it appears. */
export interface ProbePlan {
  readonly writePort: number
  readonly readPort: number
  readonly writeToken: string
  readonly readToken: string
  readonly path: string
  readonly seconds: number
}

export interface ProbeResult {
  readonly samples: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export type WorkerTask =
  | { readonly kind: 'load'; readonly plan: LoadPlan }
  | { readonly kind: 'probe'; readonly plan: ProbePlan }

export type WorkerAnswer =
  | { readonly ok: true; readonly result: LoadResult | ProbeResult }
  | { readonly ok: false; readonly error: string }

/** Writes keys to a KV version 1 mount of a stopped server. */
export interface FillTask {
  /** The configuration of the server. */
  readonly config: string
  readonly unsealKeys: readonly string[]
  /** With a trailing slash. */
  readonly mount: string
  /** `{n}` is replaced by consecutive numbers, beginning with 0. */
  readonly name: string
  readonly keys: number
  readonly body: string
  /** Maximum number of writes that wait for one commit. */
  readonly writers: number
}

export type FillAnswer = { readonly ok: true } | { readonly ok: false; readonly error: string }
