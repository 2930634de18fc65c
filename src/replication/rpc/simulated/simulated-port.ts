import type { Facilities } from '../../../base/facilities.js'
import { LogicalError } from '../../../logical/errors.js'
import type { ReplicationTimes, ServerIdentity } from '../../model/types.js'
import { carriedRefusal } from '../refusal.js'
import { FETCH_KEYS, isUnary, methodOf, STREAM_WALS } from '../methods.js'
import type { Caller, ClusterService, PrimaryStream, ReplyOf, RequestOf, UnaryMethod } from '../service.js'
import type { ClusterPort } from '../transport.js'
import { codedStream } from './coded-stream.js'
import type { Identities } from './identity.js'
import { Session } from './session.js'
import type { MessageNetwork, Wire, WireMessage } from './wire.js'
import type { WireCall } from './wire-call.js'

export interface PortOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly network: MessageNetwork
  readonly times: Pick<ReplicationTimes, 'keepaliveTimeMs' | 'keepaliveTimeoutMs' | 'connectTimeoutMs'>
  readonly identities: Identities
}

interface Served {
  readonly identity: ServerIdentity
  readonly service: ClusterService
  readonly sessions: Map<Session, string>
}

const WITHDRAWN = new LogicalError('unavailable', 'this name is no longer served')

/** The cluster port: one address of a network inside the process. */
export class SimulatedPort implements ClusterPort {
  readonly address: string
  readonly #options: PortOptions
  readonly #served = new Map<string, Served>()
  /** Connections that are not yet authenticated. */
  readonly #unauthenticated = new Set<Wire>()
  readonly #close: () => void

  /** Binds the address. Throws if it is in use. */
  constructor(address: string, options: PortOptions) {
    this.#options = options
    const bound = options.network.listen(address, (wire) => this.#handshake(wire))
    this.address = bound.address
    this.#close = () => bound.close()
  }

  serve(identity: ServerIdentity, service: ClusterService): void {
    this.withdraw(identity.serverName)
    this.#options.identities.requireOwnKey(identity.certificate, identity.privateKey)
    this.#served.set(identity.serverName, { identity, service, sessions: new Map() })
  }

  withdraw(serverName: string): void {
    const served = this.#served.get(serverName)
    this.#served.delete(serverName)
    for (const session of [...(served?.sessions.keys() ?? [])]) session.close(WITHDRAWN)
  }

  cut(serverName: string, commonName: string): void {
    const sessions = this.#served.get(serverName)?.sessions ?? []
    for (const [session, name] of [...sessions]) if (name === commonName) session.close(WITHDRAWN)
  }

  async close(): Promise<void> {
    this.#close()
    for (const serverName of [...this.#served.keys()]) this.withdraw(serverName)
    for (const wire of this.#unauthenticated) wire.close()
    this.#unauthenticated.clear()
  }

  #handshake(wire: Wire): void {
    const { clock, times, log } = this.#options
    const end = () => {
      this.#unauthenticated.delete(wire)
      timer.cancel()
      wire.close()
    }
    const timer = clock.setTimer(times.connectTimeoutMs, end)
    this.#unauthenticated.add(wire)
    wire.listen({
      onClose: end,
      onMessage: (message) => {
        this.#unauthenticated.delete(wire)
        timer.cancel()
        try {
          this.#admit(wire, message)
        } catch (error) {
          log.debug('cluster connection refused', { error })
          wire.close()
        }
      },
    })
  }

  #admit(wire: Wire, message: WireMessage): void {
    const served = message.is === 'hello' ? this.#served.get(message.serverName) : undefined
    if (message.is !== 'hello' || !served) throw new LogicalError('unavailable', 'unknown server name')
    const { identity, service, sessions } = served
    const commonName = this.#options.identities.callerName(message.certificate, identity.certificate)
    wire.send({ is: 'welcome', certificate: identity.certificate })
    const session = new Session(wire, {
      ...this.#options,
      onCall: (method, call) => answer(service, commonName, method, call),
    })
    sessions.set(session, commonName)
    session.lost.addEventListener('abort', () => sessions.delete(session))
  }
}

const answer = (service: ClusterService, commonName: string, method: string, call: WireCall): void => {
  if (method === 'streamWals') answerStream(service, commonName, call)
  else if (method === 'fetchKeys') answerFetch(service, commonName, call)
  else if (isUnary(method)) answerUnary(service, commonName, method, call)
  else call.end({ code: 'invalid', text: `there is no call "${method}"` })
}

/** The reason is created once, because each `abort` without a reason creates an error with a stack trace. */
const ANSWERED = new LogicalError('unavailable', 'the call has been answered')

/** Returns the caller of a call, with a signal that is aborted when the connection is lost or `end` is called. */
const callerOf = (commonName: string, call: WireCall): Caller & { readonly end: () => void } => {
  const gone = new AbortController()
  call.onEnd((end) => {
    if ('lost' in end) gone.abort(end.lost)
  })
  return { commonName, gone: gone.signal, end: () => gone.abort(ANSWERED) }
}

const answerUnary = <M extends UnaryMethod>(
  service: ClusterService,
  commonName: string,
  method: M,
  call: WireCall,
): void => {
  const { requestDeserialize, responseSerialize } = methodOf(method)
  const run = service[method].bind(service) as unknown as (caller: Caller, request: RequestOf<M>) => Promise<ReplyOf<M>>
  const caller = callerOf(commonName, call)
  call.listen((payload) => {
    run(caller, requestDeserialize(payload))
      .then((reply) => {
        call.write(responseSerialize(reply))
        call.end()
      })
      .catch((error: unknown) => call.end(carriedRefusal(error)))
      .finally(caller.end)
  })
}

const answerFetch = (service: ClusterService, commonName: string, call: WireCall): void => {
  const caller = callerOf(commonName, call)
  const pump = async (payload: Buffer) => {
    for await (const reply of service.fetchKeys(caller, FETCH_KEYS.requestDeserialize(payload))) {
      if (caller.gone.aborted) return
      const bytes = FETCH_KEYS.responseSerialize(reply)
      await new Promise<void>((resolve) => call.write(bytes, resolve))
    }
    call.end()
  }
  call.listen((payload) => {
    pump(payload).catch((error: unknown) => call.end(carriedRefusal(error)))
  })
}

const answerStream = (service: ClusterService, commonName: string, call: WireCall): void => {
  const codec = { encode: STREAM_WALS.responseSerialize, decode: STREAM_WALS.requestDeserialize }
  const stream: PrimaryStream = codedStream(call, codec, (error) =>
    call.end(error === undefined ? undefined : carriedRefusal(error)),
  )
  const { gone } = callerOf(commonName, call)
  gone.addEventListener('abort', () => stream.markEnded(gone.reason))
  stream.endAfter(service.streamWals({ commonName, gone }, stream))
}
