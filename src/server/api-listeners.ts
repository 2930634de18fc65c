import os from 'node:os'
import { readNamedFile } from '../base/named-file.js'
import type { TlsSettings } from '../http/connection/tls.js'
import { ResponseBudget } from '../http/limits/response-budget.js'
import type { Rendered } from '../logical/incoming.js'
import type { ResponseReservation } from '../logical/request.js'
import { RequestBodyBudget } from '../http/limits/request-body-budget.js'
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../http/http-server.js'
import type { ListenerConfig, ListenerTls, ServerConfig } from './config/config.js'
import { PAGE_HEADERS, readPageFiles } from './page-files.js'

type OfListener = 'tls' | 'limits' | 'forwardedFor' | 'proxyProtocol' | 'chrootNamespace' | 'withheld'

interface ListenersOptions extends Omit<HttpServerOptions, 'bodies' | 'answers' | 'page' | 'ownHeaders' | OfListener> {
  readonly config: Pick<ServerConfig, 'hasPage' | 'responseHeaders' | 'storage'>
}

/**
 * The listeners of the API. They share the budgets for request bodies and responses, which limit the memory use of the
 * server.
 */
export class ApiListeners {
  readonly #options: ListenersOptions
  readonly #page: HttpServerOptions['page']
  readonly #bodies: RequestBodyBudget
  readonly #answers: ResponseBudget
  readonly #open: HttpServer[] = []
  readonly #addresses: string[] = []

  constructor(options: ListenersOptions) {
    this.#options = options
    this.#page = options.config.hasPage ? serveOwnPage() : undefined
    this.#bodies = new RequestBodyBudget(options.clock)
    this.#answers = new ResponseBudget(options.clock)
  }

  /** Reserves memory budget for a response to another node. The reservation ends when `ended` is aborted. */
  readonly reservationForCall = (ended: AbortSignal): ResponseReservation => this.#answers.reservationForCall(ended)

  /** The bound addresses as `host:port`. */
  get addresses(): readonly string[] {
    return this.#addresses
  }

  /** Opens one listener. Rejects if its port is in use. */
  async open({ address, tls, ...listener }: ListenerConfig): Promise<void> {
    const server = createHttpServer({
      ...this.#options,
      ...listener,
      page: this.#page,
      ownHeaders: ownHeadersOf(this.#options.config),
      bodies: this.#bodies,
      answers: this.#answers,
      tls: tls && (() => readTls(tls)),
    })
    this.#addresses.push(await server.listen(address))
    this.#open.push(server)
  }

  /**
   * Reloads the certificates of all listeners. Returns one promise per listener, so that a failure does not affect the
   * others.
   */
  reloadTls(): Promise<void>[] {
    return this.#open.map(async (server) => server.reloadTls())
  }

  /** Closes all listeners. Waits at most `drainMs` milliseconds for requests in flight. */
  async close(drainMs: number): Promise<void> {
    await Promise.all(this.#open.map((server) => server.close(drainMs)))
  }
}

/** Returns the configured headers that identify the server in each API response, as alternating names and values. */
const ownHeadersOf = ({
  responseHeaders: { hasHostname, hasNodeId },
  storage: { label, nodeId },
}: Pick<ServerConfig, 'responseHeaders' | 'storage'>): readonly string[] => [
  ...(hasHostname ? ['X-Vault-Hostname', printable(os.hostname())] : []),
  ...(hasNodeId && label === 'raft' ? ['X-Vault-Raft-Node-ID', printable(nodeId)] : []),
]

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?')

const ROOT = '/ui/'

/** Redirects `/` and the addresses of Vault's UI to the page. */
const redirect: Rendered = {
  status: 307,
  contentType: 'text/html; charset=utf-8',
  body: '',
  headers: { ...PAGE_HEADERS, Location: ROOT, Vary: 'Accept' },
}

/**
 * Returns a function that serves the page of the server, from the same files as the page of a lab. The files are
 * public, because they contain no data of the server: the page gets its data through the API. The files are read on
 * first use. If they are missing, there is no page.
 */
const serveOwnPage = (): ((path: string, accept: string) => Rendered | undefined) => {
  let files: ReturnType<typeof readPageFiles> | undefined
  const findFiles = () => {
    try {
      files ??= readPageFiles()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      files = new Map()
    }
    return files
  }
  return (path, accept) => {
    if (path !== '/' && path !== '/ui' && !path.startsWith(ROOT)) return undefined
    const all = findFiles()
    const file = path.startsWith(ROOT) ? all.get(path.slice(ROOT.length)) : undefined
    if (file) return { status: 200, ...file, headers: PAGE_HEADERS }
    return all.size > 0 && /\btext\/html\b/.test(accept) ? redirect : undefined
  }
}

/** Reads the certificate files of a listener. Paths are relative to the working directory. */
const readTls = (settings: ListenerTls): TlsSettings => {
  const { certFile, keyFile, clientCaFile, requireClientCert, disableClientCerts, ...versions } = settings
  return {
    ...versions,
    cert: readNamedFile(certFile),
    key: readNamedFile(keyFile),
    clientCa: clientCaFile === '' ? undefined : readNamedFile(clientCaFile),
    mustPresentCertificate: requireClientCert,
    ignoresClients: disableClientCerts,
  }
}
