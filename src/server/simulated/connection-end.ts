import type { Clock } from '../../base/clock.js'
import { Inbox, type Wire, type WireMessage } from '../../replication/rpc/simulated/wire.js'
import type { History } from './history.js'
import type { Host } from './host.js'

/** The network functions that an end of a connection uses. */
interface LinkProperties {
  isCut(from: string, to: string): boolean
  /** Returns the latency of a message, in ms. `slowMs` returns the additional latency of one direction, in ms. */
  delayMs(): number
  slowMs(from: string, to: string): number
}

interface EndOptions {
  readonly clock: Clock
  readonly history: History
  readonly network: LinkProperties
  readonly name: string
  readonly onGone: (end: End) => void
}

/** The data that one end of a connection has sent and the other end has not received yet. */
export interface Sent {
  readonly from: string
  readonly to: string
  readonly messages: number
  readonly bytes: number
}

/** One end of a connection, with the data that it has sent and the other end has not received yet. */
export class End implements Wire {
  readonly host: Host
  other: End | undefined
  readonly #options: EndOptions
  readonly #inTransit: { readonly dueMs: number; readonly message: WireMessage | 'close' }[] = []
  readonly #inbox = new Inbox()
  #isTravelling = false

  constructor(host: Host, options: EndOptions) {
    this.host = host
    this.#options = options
  }

  send(message: WireMessage): void {
    if (!this.#inbox.isClosed && this.host.isAlive) this.#put(message)
  }

  listen(listeners: Parameters<Wire['listen']>[0]): void {
    this.#inbox.listen(listeners)
  }

  close(): void {
    if (!this.#inbox.shut()) return
    this.#put('close')
    this.#removeIfClosed()
  }

  /** Breaks the connection and notifies this end. */
  disconnect(): void {
    this.#inTransit.splice(0)
    this.#inbox.end()
    this.#removeIfClosed()
  }

  /** Detaches the process at this end, which has died. Its data in transit still arrives. */
  forget(): void {
    this.#inbox.forget()
    this.#removeIfClosed()
  }

  get isClosed(): boolean {
    return this.#inbox.isClosed
  }

  get sent(): Sent {
    const messages = this.#inTransit.length
    const bytes = this.#inTransit.reduce((sum, { message }) => sum + bytesOf(message), 0)
    return { from: this.host.name, to: this.other?.host.name ?? '', messages, bytes }
  }

  /** Delivers the next message. Does nothing if a message is already being delivered or the link is cut. */
  pump(): void {
    const [next] = this.#inTransit
    const to = this.other
    if (!next || !to || this.#isTravelling || this.#options.network.isCut(this.host.name, to.host.name)) return
    this.#isTravelling = true
    const { clock } = this.#options
    clock.setTimer(Math.max(next.dueMs - clock.monotonic(), to.host.frozenMs), () => {
      this.#isTravelling = false
      if (to.host.frozenMs > 0) return this.pump()
      if (!this.#options.network.isCut(this.host.name, to.host.name)) {
        this.#inTransit.shift()
        to.#arrive(next.message)
      }
      this.pump()
    })
  }

  #put(message: WireMessage | 'close'): void {
    const { clock, network } = this.#options
    const slowMs = this.other ? network.slowMs(this.host.name, this.other.host.name) : 0
    this.#inTransit.push({ dueMs: clock.monotonic() + network.delayMs() + slowMs, message })
    this.pump()
  }

  /** Removes the connection once both ends are closed, since data in transit then has no recipient. */
  #removeIfClosed(): void {
    const { other } = this
    if (!this.isClosed || !other?.isClosed) return
    for (const end of [this, other]) this.#options.onGone(end)
  }

  #arrive(message: WireMessage | 'close'): void {
    const { history, name } = this.#options
    if (!this.host.isAlive || this.#inbox.isClosed) return
    const from = this.other?.host.name ?? ''
    if (message === 'close') {
      history.add(this.host.name, `${name} is closed by ${from}`)
      this.#inbox.end()
      this.#removeIfClosed()
      return
    }
    if (message.is !== 'ping' && message.is !== 'pong')
      history.add(this.host.name, `${name} gets ${textOf(message)} from ${from}`, payloadOf(message))
    this.#inbox.take(message)
  }
}

const payloadOf = (message: WireMessage): Buffer | undefined => (message.is === 'data' ? message.payload : undefined)

const bytesOf = (message: WireMessage | 'close'): number =>
  message !== 'close' && message.is === 'data' ? message.payload.length : 0

const textOf = (message: WireMessage): string => {
  switch (message.is) {
    case 'call':
      return `call ${message.id} of ${message.method}`
    case 'data':
      return `${message.payload.length} bytes of call ${message.id}`
    case 'credit':
      return `credit of ${message.bytes} bytes for call ${message.id}`
    case 'end':
      return `the end of call ${message.id}${message.refusal ? `: ${message.refusal.text}` : ''}`
    case 'cancel':
      return `the cancellation of call ${message.id}`
    default:
      return message.is
  }
}
