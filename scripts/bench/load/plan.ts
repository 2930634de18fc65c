/** What one run of the load generator does, and what it saw. Plain data: it crosses a process boundary. */

export interface LoadPlan {
  readonly port: number
  readonly connections: number
  /** Measured after `warmupSeconds`, which count for nothing. */
  readonly seconds: number
  readonly warmupSeconds: number
  readonly method: string
  /** `{n}` becomes a number below `spread`, `{item}` the next of `items`. */
  readonly path: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly spread: number
  readonly items: readonly string[]
  /** Requests a second over all connections; undefined sends the next as soon as one is answered. */
  readonly ratePerSecond?: number | undefined
  /** Ends the run after so many answers, whatever the time. */
  readonly answersMax?: number | undefined
}

export interface LoadResult {
  readonly answers: number
  /** Those of the warm-up too. */
  readonly answersInAll: number
  readonly seconds: number
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers from 400 on. */
  readonly refused: number
  /** Of the first refusal, to be shown. */
  readonly refusal: string
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Writes a key on one server and asks another for it until it has it. */
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

/** Writes keys to a KV version 1 mount of a server that is stopped. */
export interface FillTask {
  /** The configuration of the server. */
  readonly config: string
  readonly unsealKeys: readonly string[]
  /** With a trailing slash. */
  readonly mount: string
  /** `{n}` becomes a number from 0 on. */
  readonly name: string
  readonly keys: number
  readonly body: string
  /** As many writes wait for one commit at most. */
  readonly writers: number
}

export type FillAnswer = { readonly ok: true } | { readonly ok: false; readonly error: string }
