import os from 'node:os'
import { AnswerRoom } from '../http/limits/answer-room.js'
import type { Rendered } from '../logical/incoming.js'
import type { AnswerPlace } from '../logical/request.js'
import { BodyRoom } from '../http/limits/body-room.js'
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../http/http-server.js'
import type { ListenerConfig, ServerConfig } from './config/config.js'
import { parseForwardedFor, parseProxyProtocol } from './believed-proxies.js'
import { serveOwnPage } from './own-page.js'
import { readTls } from './tls-files.js'

/** Options specific to each listener. */
type OfListener = 'tls' | 'limits' | 'forwardedFor' | 'proxyProtocol' | 'chrootNamespace' | 'withheld'

interface ListenersOptions extends Omit<HttpServerOptions, 'bodies' | 'answers' | 'page' | 'ownHeaders' | OfListener> {
  readonly config: Pick<ServerConfig, 'hasPage' | 'responseHeaders' | 'storage'>
}

/** The open ports of the API. They share the budgets for bodies and responses, which limit the memory of the server. */
export class ApiListeners {
  readonly #options: ListenersOptions
  readonly #page: HttpServerOptions['page']
  readonly #bodies: BodyRoom
  readonly #answers: AnswerRoom
  readonly #open: HttpServer[] = []
  readonly #addresses: string[] = []

  constructor(options: ListenersOptions) {
    this.#options = options
    this.#page = options.config.hasPage ? serveOwnPage() : undefined
    this.#bodies = new BodyRoom(options.clock)
    this.#answers = new AnswerRoom(options.clock)
  }

  /** Returns a budget place for the response to a request from another node, held until that node has received it. */
  readonly placeForCall = (ended: AbortSignal): AnswerPlace => this.#answers.placeForCall(ended)

  /** The addresses actually bound, `host:port`. */
  get addresses(): readonly string[] {
    return this.#addresses
  }

  /** Rejects if the port is in use. */
  async open(listener: ListenerConfig): Promise<void> {
    const { tls, forwardedFor } = listener
    const server = createHttpServer({
      ...this.#options,
      page: this.#page,
      ownHeaders: ownHeadersOf(this.#options.config),
      bodies: this.#bodies,
      answers: this.#answers,
      tls: tls && (() => readTls(tls)),
      limits: {
        bodyBytesMax: listener.maxRequestBytes,
        headerReadMs: listener.headerReadMs,
        bodyReadMs: listener.bodyReadMs,
        requestMs: listener.maxRequestMs,
        idleMs: listener.idleMs,
      },
      forwardedFor: parseForwardedFor(forwardedFor),
      proxyProtocol: parseProxyProtocol(listener.proxyProtocol),
      chrootNamespace: listener.chrootNamespace,
      withheld: listener.withheld,
    })
    this.#addresses.push(await server.listen(listener.address))
    this.#open.push(server)
  }

  /** Reloads the certificates of each listener separately: a failure does not affect the others. */
  reloadTls(): Promise<void>[] {
    return this.#open.map(async (server) => server.reloadTls())
  }

  /** Stops accepting connections, and waits up to `drainMs` for requests in flight. */
  async close(drainMs: number): Promise<void> {
    await Promise.all(this.#open.map((server) => server.close(drainMs)))
  }
}

/** Returns the configured headers that identify the server in each API response: alternating names and values. */
const ownHeadersOf = ({
  responseHeaders: { hasHostname, hasNodeId },
  storage: { label, nodeId },
}: Pick<ServerConfig, 'responseHeaders' | 'storage'>): readonly string[] => [
  ...(hasHostname ? ['X-Vault-Hostname', printable(os.hostname())] : []),
  ...(hasNodeId && label === 'raft' ? ['X-Vault-Raft-Node-ID', printable(nodeId)] : []),
]

/** Replaces characters that are not allowed in a header. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?')
