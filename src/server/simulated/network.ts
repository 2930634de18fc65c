import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import { Inbox } from '../../replication/rpc/simulated/inbox.js'
import type { MessageNetwork, Wire, WireMessage } from '../../replication/rpc/simulated/wire.js'
import type { Chance } from './chance.js'
import type { History } from './history.js'

/** One life of a server, as the network knows it. */
export interface Host {
  readonly name: string
  readonly isAlive: boolean
  /** How long nothing of it goes on yet, in milliseconds. */
  readonly frozenMs: number
}

interface NetworkOptions {
  readonly clock: Clock
  readonly chance: Chance
  readonly history: History
  /** How long a message takes at most, in milliseconds. */
  readonly delayMsMax: number
}

/**
 * The network between simulated clusters. Each message takes as long as chance has it; those of one direction of a connection
 * stay in order, as they do over TCP, and nothing else does. A direction that is cut holds what is sent until it is whole
 * again.
 */
export class Network {
  readonly #options: NetworkOptions
  readonly #listening = new Map<string, { readonly host: Host; readonly onWire: (wire: Wire) => void }>()
  readonly #ends = new Set<End>()
  readonly #cuts = new Set<string>()
  readonly #slow = new Map<string, number>()
  #nextConnection = 1
  /** While it is not, now and then something takes far longer than everything else. */
  isCalm = true

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /** The network as one life of a server sees it. */
  viewOf(host: Host): MessageNetwork {
    return {
      listen: (address, onWire) => {
        if (this.#listening.has(address)) throw new Error(`the address ${address} is taken`)
        this.#listening.set(address, { host, onWire })
        return { address, close: () => void this.#listening.delete(address) }
      },
      dial: (address, signal) => this.#dial(host, address, signal),
    }
  }

  /** Nothing arrives in this direction from now on, until it is healed. */
  cut(from: string, to: string): void {
    this.#cuts.add(pathOf(from, to))
  }

  heal(): void {
    this.#cuts.clear()
    for (const end of this.#ends) end.pump()
  }

  /** Ends what was cut in this direction. */
  mend(from: string, to: string): void {
    this.#cuts.delete(pathOf(from, to))
    for (const end of this.#ends) end.pump()
  }

  /** What is sent in this direction takes so much longer from now on. */
  slow(from: string, to: string, ms: number): void {
    if (ms > 0) this.#slow.set(pathOf(from, to), ms)
    else this.#slow.delete(pathOf(from, to))
  }

  slowMs(from: string, to: string): number {
    return this.#slow.get(pathOf(from, to)) ?? 0
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.has(pathOf(from, to))
  }

  /** Every connection between the two breaks: what is under way on it never arrives. */
  reset(one: string, other: string): void {
    for (const end of [...this.#ends])
      if (end.host.name === one && end.other?.host.name === other) for (const each of [end, end.other]) each.breakOff()
  }

  get cuts(): readonly string[] {
    return [...this.#cuts]
  }

  /** A server is gone. Those connected to it are told, as by the system of a process that dies, or are not, as by nobody. */
  bury(host: Host, areOthersTold: boolean): void {
    for (const [address, listening] of this.#listening) if (listening.host === host) this.#listening.delete(address)
    for (const end of this.#ends) {
      if (end.host !== host) continue
      if (areOthersTold) end.close()
      end.forget()
    }
  }

  /** How long a trip takes: of a message, or of a request of a client. */
  delayMs(): number {
    const { chance, delayMsMax } = this.#options
    return chance.next() * delayMsMax * (!this.isCalm && chance.happens(PART_SLOW) ? TIMES_SLOWER : 1)
  }

  async #dial(host: Host, address: string, signal: AbortSignal): Promise<Wire> {
    const { clock } = this.#options
    await clock.sleep(this.delayMs(), signal)
    const target = this.#listening.get(address)
    if (target && (this.isCut(host.name, target.host.name) || this.isCut(target.host.name, host.name)))
      await clock.sleep(NEVER_MS, signal)
    if (!target?.host.isAlive || !host.isAlive) throw new LogicalError('unavailable', `nobody answers at ${address}`)
    const [near, far] = this.#connect(host, target.host)
    target.onWire(far)
    return near
  }

  #connect(from: Host, to: Host): [End, End] {
    const name = `#${this.#nextConnection++}`
    const shared = { ...this.#options, network: this, name, onGone: (end: End) => void this.#ends.delete(end) }
    const near = new End(from, shared)
    const far = new End(to, shared)
    near.other = far
    far.other = near
    this.#ends.add(near).add(far)
    this.#options.history.add(from.name, `${name} connects to ${to.name}`)
    return [near, far]
  }
}

const PART_SLOW = 0.01
const TIMES_SLOWER = 20
const NEVER_MS = 2 ** 31
const pathOf = (from: string, to: string): string => `${from}>${to}`

interface EndOptions extends NetworkOptions {
  readonly network: Network
  readonly name: string
  readonly onGone: (end: End) => void
}

interface UnderWay {
  readonly dueMs: number
  readonly message: WireMessage | 'close'
}

/** One end of a connection, with what is under way from it. */
class End implements Wire {
  readonly host: Host
  other: End | undefined
  readonly #options: EndOptions
  readonly #underWay: UnderWay[] = []
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
    if (this.#inbox.shut()) this.#put('close')
  }

  /** The connection breaks, and this end hears of it. */
  breakOff(): void {
    this.#underWay.splice(0)
    this.#options.onGone(this)
    this.#inbox.end()
  }

  /** Nobody is at this end any more; what is under way from it still arrives. */
  forget(): void {
    this.#inbox.forget()
  }

  /** Lets the next message travel, unless one does or the way is cut. */
  pump(): void {
    const [next] = this.#underWay
    const to = this.other
    if (!next || !to || this.#isTravelling || this.#options.network.isCut(this.host.name, to.host.name)) return
    this.#isTravelling = true
    const { clock } = this.#options
    clock.setTimer(Math.max(next.dueMs - clock.monotonic(), to.host.frozenMs), () => {
      this.#isTravelling = false
      if (to.host.frozenMs > 0) return this.pump()
      if (!this.#options.network.isCut(this.host.name, to.host.name)) {
        this.#underWay.shift()
        to.#arrive(next.message)
      }
      this.pump()
    })
  }

  #put(message: WireMessage | 'close'): void {
    const { clock, network } = this.#options
    const slowMs = this.other ? network.slowMs(this.host.name, this.other.host.name) : 0
    this.#underWay.push({ dueMs: clock.monotonic() + network.delayMs() + slowMs, message })
    this.pump()
  }

  #arrive(message: WireMessage | 'close'): void {
    const { history, name, onGone } = this.#options
    if (!this.host.isAlive || this.#inbox.isClosed) return
    const from = this.other?.host.name ?? ''
    if (message === 'close') {
      history.add(this.host.name, `${name} is closed by ${from}`)
      onGone(this)
      if (this.other) onGone(this.other)
      this.#inbox.end()
      return
    }
    if (message.is !== 'ping' && message.is !== 'pong')
      history.add(this.host.name, `${name} gets ${textOf(message)} from ${from}`, payloadOf(message))
    this.#inbox.take(message)
  }
}

const payloadOf = (message: WireMessage): Buffer | undefined => (message.is === 'data' ? message.payload : undefined)

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
