import { type ApiAnswer, type ApiCall, ApiClient } from '../../client/api-client.js'
import { requireValid } from '../documents/check.js'
import { isRecord, mapWith, type Schema } from '../documents/schema.js'

const TEXT: Schema = { type: 'string' }
const OPTIONS: Schema = {
  type: 'object',
  required: ['address'],
  properties: { address: { type: ['string', 'function'], title: 'an address such as http://127.0.0.1:8200' } },
}
const REQUEST = mapWith(
  {
    method: TEXT,
    path: TEXT,
    call: mapWith({
      body: {},
      raw: {},
      headers: { type: 'object', additionalProperties: TEXT },
      query: { type: 'object', additionalProperties: { type: ['string', 'array'] } },
      token: TEXT,
      bytesMax: { type: 'integer', minimum: 0 },
    }),
  },
  ['method', 'path'],
)

/**
 * A thin client of the HTTP API with one connection pool. Paths are below `/v1/` unless they begin with a slash. Its
 * methods reject with ApiUnreachable if no response arrives within `timeoutMs` milliseconds (60,000 by default), and
 * with LabError `usage` for invalid arguments. All except `send` reject with ApiError for a status of 400 or more.
 *
 * @example
 * import { ApiClient } from 'understudy-lab'
 *
 * const client = new ApiClient({ address: 'http://127.0.0.1:8200', token: 'root', timeoutMs: 5_000 })
 * await client.write('secret/data/greeting', { data: { word: 'hello' } })
 * const { data } = await client.read('secret/data/greeting')
 * client.close()
 */
export class CheckedClient extends ApiClient {
  constructor(options: ConstructorParameters<typeof ApiClient>[0]) {
    requireValid('ApiClient', OPTIONS, options, 'options')
    super(options)
  }

  override async send(method: string, path: string, call?: ApiCall): Promise<ApiAnswer> {
    // The body can have any form, and can be large.
    const given = isRecord(call) ? { ...call, body: undefined, raw: undefined } : call
    requireValid('a request', REQUEST, { method, path, call: given }, 'it')
    return super.send(method, path, call)
  }
}
