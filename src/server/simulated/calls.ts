import type { IncomingRequest } from '../../logical/incoming.js'
import { type Operation, ROOT_NAMESPACE } from '../../logical/request.js'

/** What a client gets. */
export interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/** What a client sends. */
export interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'LIST'
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly token?: string
}

const OPERATIONS = { GET: 'read', PUT: 'update', DELETE: 'delete', LIST: 'list' } as const satisfies Record<
  Call['method'],
  Operation
>

/** A call as the HTTP front hands it over. */
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
