import { ManualClock } from './manual-clock.js'
import { createSeededRandom } from '../../src/base/random.js'
import { silentLog } from '../../src/base/log.js'
import type { Backend, BackendContext, MountView } from '../../src/logical/backend.js'
import { decideWriteOperation, dispatch } from '../../src/logical/dispatch.js'
import { renderBody } from '../../src/logical/envelope.js'
import { LogicalError } from '../../src/logical/errors.js'
import { type JsonObject, parseJson } from '../../src/logical/json.js'
import { type Operation, type Request, type Response, ROOT_NAMESPACE } from '../../src/logical/request.js'
import { MemoryStorage } from './memory-storage.js'

/** One backend on its own mount, without the rest of a server. */
export class BackendHarness {
  readonly clock = new ManualClock()
  readonly storage = new MemoryStorage()
  readonly context: BackendContext
  readonly backend: Backend

  constructor(factory: (context: BackendContext) => Backend, mount: Partial<MountView> = {}) {
    this.context = {
      storage: this.storage,
      localStorage: new MemoryStorage(),
      mount: {
        accessor: 'kv_00000000',
        uuid: 'uuid',
        path: 'secret/',
        namespace: ROOT_NAMESPACE,
        isLocal: false,
        defaultLeaseTtlSeconds: 2_764_800,
        maxLeaseTtlSeconds: 2_764_800,
        options: {},
        ...mount,
      },
      clock: this.clock,
      random: createSeededRandom('backend-harness'),
      log: silentLog,
      isReadOnly: () => false,
      resolveTemplate: (text) => text,
    }
    this.backend = factory(this.context)
    this.storage.onChange((key) => this.backend.invalidate?.(key))
  }

  /** Returns the response of the handler. `body` is JSON text or an object. */
  async call(
    operation: Operation,
    path: string,
    body: JsonObject | string = {},
    more: Partial<Request> = {},
  ): Promise<Response | undefined> {
    const request = makeRequest(operation, path, body, more)
    if (operation === 'update') request.operation = decideWriteOperation(this.backend, request, path)
    return dispatch(this.backend, request, path)
  }

  read(path: string, query: JsonObject = {}) {
    return this.call('read', path, query)
  }

  write(path: string, body: JsonObject | string = {}) {
    return this.call('update', path, body)
  }

  list(path: string) {
    return this.call('list', path.endsWith('/') || path === '' ? path : `${path}/`)
  }
}

export const makeRequest = (
  operation: Operation,
  path: string,
  body: JsonObject | string = {},
  more: Partial<Request> = {},
): Request => ({
  id: 'request-id',
  operation,
  path,
  namespace: ROOT_NAMESPACE,
  data: (typeof body === 'string' ? parseJson(body) : Object.assign(Object.create(null), body)) as JsonObject,
  headers: {},
  remoteAddress: '127.0.0.1',
  remotePort: 40_000,
  clientToken: undefined,
  wrap: undefined,
  ...more,
})

/** Returns the `data` of a response as a client receives it. Throws without a response. */
export const dataOf = (response: Response | undefined): unknown => {
  if (!response) throw new Error('there is no answer')
  return JSON.parse(textOf(response)).data
}

/** Returns the complete response body. */
export const textOf = (response: Response): string => String(renderBody('request-id', response).body)

/** Returns code and text of the LogicalError with which `promise` rejects. Throws if it resolves. */
export const refusal = async (promise: Promise<unknown>): Promise<[string, string]> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof LogicalError) return [error.code, error.message]
    throw error
  }
  throw new Error('it was not refused')
}

/** The token fields of a role or user with default values. */
export const EMPTY_TOKEN_FIELDS = {
  token_bound_cidrs: [],
  token_explicit_max_ttl: 0,
  token_max_ttl: 0,
  token_no_default_policy: false,
  token_num_uses: 0,
  token_period: 0,
  token_policies: [],
  token_ttl: 0,
  token_type: 'default',
}
