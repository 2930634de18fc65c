import type { IncomingHttpHeaders } from 'node:http'
import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import { type Operation, ROOT_NAMESPACE } from '../../logical/request.js'
import type { WrappedCall } from '../../replication/host/host.js'

/** The status and the JSON body of a response. */
export interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/** The request that a client sends. */
export interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'LIST'
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly token?: string
}

/** A response with its headers and its raw body. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

const OPERATIONS = { GET: 'read', PUT: 'update', DELETE: 'delete', LIST: 'list' } as const satisfies Record<
  Call['method'],
  Operation
>

/** Converts a call to a request, as the HTTP server would. */
export const incomingOf = (id: string, { method, path, body = {}, token }: Call): IncomingRequest => ({
  id,
  operation: OPERATIONS[method],
  path,
  namespace: ROOT_NAMESPACE,
  namespaceHeader: undefined,
  data: Object.assign(Object.create(null), body) as IncomingRequest['data'],
  headers: {},
  remoteAddress: '127.0.0.1',
  remotePort: 40_000,
  clientToken: token,
  wrap: undefined,
  isHead: false,
  bodyBytes: 0,
})

export const bytesOf = async (body: Rendered['body']): Promise<Buffer> => {
  if (typeof body === 'string') return Buffer.from(body)
  if (Buffer.isBuffer(body)) return body
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Returns the headers as a client receives them. Header names are in lower case. */
export const headersOf = ({ contentType, headers }: Rendered): IncomingHttpHeaders => ({
  'content-type': contentType,
  ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
})

/** Looks up or unwraps a wrapping token on the server `other` for the server `from`; 503 without a response. */
export const fetchWrapped = async (
  other: { call(call: Call, from: string): Promise<Answer | undefined> } | undefined,
  { step, token }: WrappedCall,
  from: string,
): Promise<{ readonly status: number; readonly body: string }> => {
  const answer = await other?.call({ method: 'PUT', path: `sys/wrapping/${step}`, token }, from)
  if (!answer) return { status: 503, body: '{"errors":["the server does not respond"]}' }
  return { status: answer.status, body: JSON.stringify(answer.json) }
}
