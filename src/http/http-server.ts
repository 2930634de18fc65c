import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import { LIMITS } from '../base/limits.js'
import { formatHostPort, parseHostPort } from '../base/network.js'
import { LogicalError } from '../logical/errors.js'
import { NO_RULES } from '../logical/path-rules.js'
import { ResponseBudget } from './limits/response-budget.js'
import { answerBadMessage, answerConnect, answerPlain, linger } from './response/bad-message.js'
import { RequestBodyBudget } from './limits/request-body-budget.js'
import { Connections, Exchanges, Handshakes } from './connection/connections.js'
import type { Answer, DirectAnswer, Message, WholeMessage } from './message/direct-answer.js'
import { createApp } from './express-app.js'
import { FastLane } from './connection/fast-lane.js'
import { HttpHandler, type HttpHandlerOptions } from './http-handler.js'
import { MessageGate } from './connection/message-gate.js'
import { findParserHooks, type ParserHooks } from './connection/parser-hooks.js'
import {
  interceptConnections,
  ProxiedConnections,
  type ProxyProtocolSettings,
} from './connection/proxied-connections.js'
import { keepFirst } from './message/request-headers.js'
import { ClientCertificates, type SecureOptions, type TlsSettings } from './connection/tls.js'

/** The limits of one listener, in bytes and milliseconds. The default of each limit is its value in `LIMITS`. */
export interface HttpLimits {
  readonly bodyBytesMax?: number | undefined
  readonly handshakeMs?: number | undefined
  readonly headerReadMs?: number | undefined
  readonly bodyReadMs?: number | undefined
  readonly requestMs?: number | undefined
  readonly idleMs?: number | undefined
  readonly connectionsMax?: number | undefined
}

export interface HttpServerOptions
  extends Omit<
    HttpHandlerOptions,
    'clients' | 'bodyBytesMax' | 'idleMs' | 'bodies' | 'answers' | 'allowBody' | 'rulesOf'
  > {
  /** By default, no path has rules. */
  readonly rulesOf?: HttpHandlerOptions['rulesOf']
  /** By default, every sender has the limits of an authenticated sender. */
  readonly allowBody?: HttpHandlerOptions['allowBody']
  /** By default, the listener has its own budgets. */
  readonly bodies?: RequestBodyBudget
  readonly answers?: ResponseBudget
  readonly limits?: HttpLimits | undefined
  /** Returns the hooks of Node's parser. If it returns undefined, Node's server handles all messages. */
  readonly findHooks?: (() => ParserHooks | undefined) | undefined
  /** Returns the TLS settings. Called at startup and by `reloadTls`. If absent, the listener does not use TLS. */
  readonly tls?: (() => TlsSettings) | undefined
  /** If absent, the listener does not read PROXY protocol headers. */
  readonly proxyProtocol?: ProxyProtocolSettings | undefined
}

export interface HttpServer {
  /**
   * Starts listening. Resolves to the bound address in the form `host:port`. Rejects with the error of the operating
   * system, for example if the address is in use.
   */
  listen(address: string): Promise<string>
  /**
   * Loads the certificate again, for new connections. If the certificate is invalid, throws and keeps the previous
   * certificate.
   */
  reloadTls(): void
  /**
   * Stops accepting connections, waits up to `drainMs` for requests in flight, then closes all connections. If
   * `drainMs` is 0, closes the connections before the function returns.
   */
  close(drainMs: number): Promise<void>
}

/** The interval, in milliseconds, at which Node checks for timed-out connections. */
const SWEEP_MS = 1000

export const createHttpServer = (options: HttpServerOptions): HttpServer => {
  const { clock, log, limits = {}, tls, proxyProtocol } = options
  const clients = new ClientCertificates()
  const bodyBytesMax = limits.bodyBytesMax ?? LIMITS.bodyBytesMax
  const idleMs = limits.idleMs ?? LIMITS.idleMs
  const budgets = { bodies: new RequestBodyBudget(clock), answers: new ResponseBudget(clock) }
  const handler = new HttpHandler({
    allowBody: () => ALL,
    rulesOf: () => NO_RULES,
    ...budgets,
    ...options,
    bodyBytesMax,
    idleMs,
    clients,
  })
  const exchanges = new Exchanges(clock)
  const connections = new Connections(clock)

  const isClosing = () => exchanges.isClosing
  const serve = (request: Message, response: Answer, verb: string) => {
    const exchange = exchanges.begin(request, response)
    const end = () => exchanges.end(exchange)
    handler.answer(request, response, verb, isClosing).then(end, (error) => {
      end()
      abandon(request, error)
    })
  }
  const { app, classes } = createApp((request, response) => {
    keepFirst(request)
    serve(request, response, connections.gateOf(request.socket)?.isList ? 'LIST' : (request.method ?? ''))
  })
  const serveWhole = (message: WholeMessage, answer: DirectAnswer) => serve(message, answer, message.method)
  const hooks = (options.findHooks ?? findParserHooks)()
  if (!hooks) log.debug('the fast lane is disabled: the HTTP parser of this Node version is unknown', {})
  const abandon = (request: Message, error: unknown) => {
    log.error('a response could not be sent', { error })
    request.socket.destroy()
  }
  const server = createNodeServer(classes, limits, tls && clients.optionsOf(tls()))
  // Replaces Node's implementation, for which a connection is idle while the fast lane handles a message.
  server.closeIdleConnections = () => connections.endIdle()

  /** Returns whether the gate expects a message. If not, closes the connection. */
  const mayBegin = (request: IncomingMessage, response: ServerResponse): boolean => {
    const gate = connections.gateOf(request.socket)
    if (gate?.begin(request, response)) return true
    gate?.stop()
    request.socket.destroy()
    return false
  }
  const fail = (request: Message, response: Answer, error: unknown) =>
    void handler.fail(request, response, error, exchanges.isClosing).catch((cause) => abandon(request, cause))

  const proxied = proxyProtocol && new ProxiedConnections(proxyProtocol, log)
  const handshakes = (tls || proxied) && new Handshakes(clock, limits.handshakeMs ?? LIMITS.handshakeMs)
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    const raw = handshakes?.end(socket)
    if (!clients.accept(socket) || (proxied && !raw)) {
      socket.destroy()
      return
    }
    if (raw) proxied?.name(socket, raw)
    const lane = FastLane.over(socket, hooks)
    const gate = new MessageGate(socket, lane && { lane, serve: serveWhole })
    awaitAnswers(socket, gate)
    connections.add(socket, gate)
    socket.destroySoon = () => {
      gate.stop()
      socket.end()
      linger(socket, clock)
    }
  })
  if (handshakes)
    interceptConnections(server, (raw, pass) => {
      if (proxied?.refuse(raw)) return
      handshakes.begin(raw)
      if (proxied) proxied.read(raw, pass)
      else pass()
    })
  server.on('request', (request, response) => {
    if (mayBegin(request, response)) app(request, response, (error) => fail(request, response, error ?? NO_ROUTE))
  })
  server.on('checkExpectation', (request, response) => {
    if (mayBegin(request, response)) fail(request, response, NO_EXPECTATION)
  })
  server.on('clientError', (error, socket: Socket) =>
    answerBadMessage(error, socket, connections.gateOf(socket), clock),
  )
  server.on('connect', (_, socket: Socket) => answerConnect(socket, connections.gateOf(socket), clock))
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    log.debug('a TLS handshake failed', { error: error.message })
    if (error.code === 'ERR_SSL_HTTP_REQUEST') answerPlain(socket)
  })
  server.on('drop', () => log.warn('a connection was rejected: too many connections'))

  return {
    listen: (address) =>
      new Promise((resolve, reject) => {
        const { host, port } = parseHostPort(address)
        server.once('error', reject)
        server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
          server.off('error', reject)
          server.on('error', (error) => log.error('the HTTP listener failed', { error: error.message }))
          exchanges.watch(limits.requestMs ?? LIMITS.requestMs, ({ request, response }) => {
            if (!response.headersSent) fail(request, response, TOO_SLOW)
          })
          connections.watch(idleMs)
          const bound = server.address()
          resolve(typeof bound === 'object' && bound ? formatHostPort(bound.address, bound.port) : address)
        })
      }),
    reloadTls: () => {
      if (tls && 'setSecureContext' in server) server.setSecureContext(clients.optionsOf(tls()))
    },
    close: async (drainMs) => {
      if (!server.listening) return
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const draining = exchanges.drain(drainMs)
      if (draining) await draining
      const isQuiet = exchanges.stop()
      connections.close(!isQuiet)
      handshakes?.close()
      await closed
    },
  }
}

/**
 * Delays the `end` event of a socket until the last response has been sent. A client may half-close a connection after
 * its last request. Node's server does not know about messages in the fast lane, so it would close the connection
 * before their responses.
 */
const awaitAnswers = (socket: Socket, gate: MessageGate): void => {
  const listener = socket.listeners('end').at(-1) as (() => void) | undefined
  if (!listener) return
  const pass = () => {
    const answer = gate.dueAnswer
    if (answer) answer.once('close', pass)
    else if (!socket.destroyed) listener.call(socket)
  }
  socket.off('end', listener)
  socket.on('end', pass)
}

const createNodeServer = (classes: ServerOptions, limits: HttpLimits, secure: SecureOptions | undefined) => {
  const settings = {
    ...classes,
    maxHeaderSize: LIMITS.headerBytesMax,
    headersTimeout: limits.headerReadMs ?? LIMITS.headerReadMs,
    requestTimeout: limits.bodyReadMs ?? LIMITS.bodyReadMs,
    keepAliveTimeout: limits.idleMs ?? LIMITS.idleMs,
    connectionsCheckingInterval: SWEEP_MS,
    requireHostHeader: false,
    allowHalfOpen: true,
    noDelay: true,
  }
  const server = secure ? createSecureServer({ ...settings, ...secure }) : createServer(settings)
  Object.assign(server, { httpAllowHalfOpen: true })
  server.maxConnections = limits.connectionsMax ?? LIMITS.connectionsMax
  return server
}

const ALL = { bytesMax: LIMITS.bodyBytesMax, valuesMax: LIMITS.jsonValuesMax, isAuthorised: true }
const NO_ROUTE = new LogicalError('not-found', '')
const NO_EXPECTATION = new LogicalError('expectation', 'the value of the header Expect is not supported')
const TOO_SLOW = new LogicalError('unavailable', 'the request took too long')
