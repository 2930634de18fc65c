import type { IncomingHttpHeaders } from 'node:http'

/** An outgoing request, and the timeout of its response. */
interface Departure {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly timeoutMs: number
}

interface Arrival {
  readonly status: number
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Carries requests without a socket. Rejects if there is no response. */
export type Exchange = (departure: Departure) => Promise<Arrival>
