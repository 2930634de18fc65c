import type { IncomingHttpHeaders } from 'node:http'

/** A request as it leaves, and how long its answer may take. */
interface Departure {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly timeoutMs: number
}

interface Arrival {
  readonly status: number
  /** Names in small letters. */
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Carries requests where no socket leads. Rejects when no answer comes. */
export type Exchange = (departure: Departure) => Promise<Arrival>
