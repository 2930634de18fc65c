import type { IncomingHttpHeaders } from 'node:http'

/** A request, and the timeout of its response in milliseconds. */
interface OutgoingRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly timeoutMs: number
}

interface ReceivedResponse {
  readonly status: number
  /** The headers by name in lower case. */
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Sends a request without a socket, and returns the response. Rejects if no response arrives. */
export type Exchange = (request: OutgoingRequest) => Promise<ReceivedResponse>
