import { systemClock } from '../../../src/base/clock.js'
import { silentLog } from '../../../src/base/log.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { createHttpServer, type HttpServerOptions } from '../../../src/http/http-server.js'
import { findParserHooks } from '../../../src/http/connection/parser-hooks.js'
import { renderAnswer } from '../../../src/logical/envelope.js'
import type { IncomingRequest, Rendered } from '../../../src/logical/incoming.js'
import { systemRules, systemRulesOf } from '../../../src/core/system/system-rules.js'

const RULES = systemRules({ unauthenticatedMetrics: false, own: { allowGenerateRootUnauthenticated: true } })

/** Starts a server whose handler responds with the request. */
export const startFace = async (options: Partial<HttpServerOptions> = {}) => {
  const requests: IncomingRequest[] = []
  const server = createHttpServer({
    handle: async (request) => {
      requests.push(request)
      return describe(request)
    },
    clock: systemClock,
    random: createSeededRandom('front'),
    rulesOf: (path) => systemRulesOf(RULES, path),
    log: silentLog,
    ...options,
  })
  const address = await server.listen('127.0.0.1:0')
  return { server, address, url: `http://${address}`, requests, [Symbol.asyncDispose]: () => server.close(1000) }
}

/** Returns operation, path and fields of a request. */
export const describe = (request: IncomingRequest): Rendered =>
  renderAnswer(request, { data: { operation: request.operation, path: request.path, fields: request.data } })

/** Responds without repeating the request. */
export const acknowledge = async (request: IncomingRequest): Promise<Rendered> =>
  renderAnswer(request, { data: { operation: request.operation } })

/** All properties of the HTTP front must also hold without the fast lane. */
export const WAYS: readonly (readonly [name: string, start: typeof startFace])[] = [
  ['in the fast lane', (options) => startFace({ findHooks: findParserHooks, ...options })],
  ['without the fast lane', (options) => startFace({ findHooks: () => undefined, ...options })],
]
