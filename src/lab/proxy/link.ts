import net from 'node:net'
import { type Direction, directionsOf, LinkDirection, type Passage, type Way } from './direction.js'
import type { FaultName, Faults } from './link-faults.js'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { Pipe } from './apply-faults.js'

export interface LinkOptions {
  /** The address on which it listens. Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** 0 chooses a free port. */
  readonly port?: number
  readonly target: { readonly host: string; readonly port: number }
  readonly clock: Clock
  readonly random: Random
  /** Permanent latency between the clusters. Removing faults does not change this latency. */
  readonly distance?: Faults['latency'] | undefined
}

/**
 * A TCP proxy through which one cluster dials an address of another cluster. Copies data unchanged until a fault is
 * set. Faults also affect existing connections. The caller must close the link.
 */
export class Link {
  readonly #options: LinkOptions
  readonly #directions: Readonly<Record<Direction, LinkDirection>> = {
    up: new LinkDirection(),
    down: new LinkDirection(),
  }
  readonly #connections = new Set<Connection>()
  #server: net.Server | undefined
  #port: number
  #dialCount = 0
  #isClosed = false

  private constructor(options: LinkOptions) {
    this.#options = options
    this.#port = options.port ?? 0
    for (const direction of directionsOf('both')) this.#directions[direction].setFaults(this.#withDistance({}))
  }

  static async open(options: LinkOptions): Promise<Link> {
    const link = new Link(options)
    await link.up()
    return link
  }

  get port(): number {
    return this.#port
  }

  /** The address on which it listens: `127.0.0.1:port`. */
  get address(): string {
    return `127.0.0.1:${this.#port}`
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Bytes forwarded in each direction since the link was opened: payload including TLS, without TCP overhead. */
  get passedBytes(): Readonly<Record<Direction, number>> {
    return { up: this.#directions.up.passedBytes, down: this.#directions.down.passedBytes }
  }

  /** Number of incoming connections so far. */
  get dialCount(): number {
    return this.#dialCount
  }

  /** Whether all traffic is stopped in at least one direction. */
  get isCut(): boolean {
    return this.#server === undefined || Object.values(this.#directions).some(({ passage }) => passage !== 'open')
  }

  /** Whether traffic passes without any fault. */
  get isClear(): boolean {
    const { distance } = this.#options
    const hasNoFault = ({ faults: { latency, ...others } }: LinkDirection) =>
      latency === distance && Object.keys(others).length === 0
    return !this.isCut && Object.values(this.#directions).every(hasNoFault)
  }

  /** Stops listening, and resets current connections. */
  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const connection of this.#connections) connection.reset()
    if (server) await new Promise((done) => server.close(done))
  }

  /** Listens again on the same port. Does nothing after `close`. */
  async up(): Promise<void> {
    if (this.#server || this.#isClosed) return
    const server = net.createServer({ allowHalfOpen: true }, (dialer) => this.#accept(dialer))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, this.#options.host ?? '127.0.0.1', resolve)
    })
    this.#port = (server.address() as net.AddressInfo).port
    this.#server = server
    if (this.#isClosed) await this.down()
  }

  /** Drops all traffic, including the close of connections, like a cut cable. */
  partition(way: Way = 'both'): void {
    this.#setPassage(way, 'partitioned')
  }

  heal(way: Way = 'both'): void {
    this.#setPassage(way, 'open')
  }

  /** Buffers all data until `release`. */
  hold(way: Way = 'both'): void {
    this.#setPassage(way, 'held')
  }

  release(way: Way = 'both'): void {
    this.#setPassage(way, 'open')
  }

  /** Sets the complete behavior of one direction. */
  setDirection(
    direction: Direction,
    { passage, faults }: { readonly passage: Passage; readonly faults: Faults },
  ): void {
    this.#directions[direction].setFaults(this.#withDistance(faults))
    this.#directions[direction].setPassage(passage)
  }

  /** Sets one fault and keeps the others. */
  setFault<N extends FaultName>(name: N, fault: NonNullable<Faults[N]>, way: Way = 'both'): void {
    for (const direction of directionsOf(way)) {
      const state = this.#directions[direction]
      state.setFaults({ ...state.faults, [name]: fault })
    }
  }

  /** Removes every fault, and ends `hold` and `partition`. */
  clearFaults(way: Way = 'both'): void {
    for (const direction of directionsOf(way)) this.#directions[direction].setFaults(this.#withDistance({}))
    this.#setPassage(way, 'open')
  }

  /** Resets current connections. New connections pass. */
  resetConnections(): void {
    for (const connection of this.#connections) connection.reset()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.down()
    this.clearFaults()
  }

  #withDistance(faults: Faults): Faults {
    const { distance } = this.#options
    return distance ? { latency: distance, ...faults } : faults
  }

  #setPassage(way: Way, passage: Passage): void {
    for (const direction of directionsOf(way)) this.#directions[direction].setPassage(passage)
  }

  #accept(dialer: net.Socket): void {
    this.#dialCount++
    const { target, clock, random } = this.#options
    const connection = new Connection({ dialer, target, directions: this.#directions, clock, random })
    this.#connections.add(connection)
    void connection.finished.then(() => this.#connections.delete(connection))
  }
}

interface ConnectionOptions {
  readonly dialer: net.Socket
  readonly target: { readonly host: string; readonly port: number }
  readonly directions: Readonly<Record<Direction, LinkDirection>>
  readonly clock: Clock
  readonly random: Random
}

/** The size of one read in Node. */
const READ_BYTES = 64 * 1024

/** Node's types declare `onread` only for connect functions, although the socket constructor accepts it. */
type TargetOptions = net.SocketConstructorOpts & Required<Pick<net.ConnectOpts, 'onread'>>

/** Two sockets with one pipe in each direction. */
class Connection {
  readonly #dialer: net.Socket
  readonly #target: net.Socket
  readonly #finished: Promise<void>

  constructor({ dialer, target, directions, clock, random }: ConnectionOptions) {
    this.#dialer = dialer
    // Most data comes from the target. All reads from the target share one buffer, which saves an allocation for each
    // chunk.
    const options: TargetOptions = {
      allowHalfOpen: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (size, bytes) => down.take(Buffer.from(bytes.buffer, bytes.byteOffset, size)),
      },
    }
    this.#target = new net.Socket(options)
    const reset = () => this.reset()
    for (const [source, direction] of [[dialer, directions.up] as const, [this.#target, directions.down] as const]) {
      source.setNoDelay(true)
      source.on('error', () => {
        if (direction.passage !== 'partitioned') reset()
      })
    }
    const shared = { clock, random, reset }
    const up = new Pipe({ source: dialer, sink: this.#target, direction: directions.up, ...shared })
    const down = new Pipe({ source: this.#target, sink: dialer, direction: directions.down, ...shared })
    dialer.on('data', (bytes: Buffer) => {
      if (!up.take(bytes)) dialer.pause()
    })
    void this.#connect(target, directions.up)
    this.#finished = Promise.all([up.finished, down.finished]).then(reset)
  }

  /** Resolves when both directions have ended. */
  get finished(): Promise<void> {
    return this.#finished
  }

  /** Closes both sides immediately, with RST if the kernel allows it. */
  reset(): void {
    resetSocket(this.#dialer)
    resetSocket(this.#target)
  }

  /** Dials the target when this direction is not partitioned, because a partition prevents new connections. */
  async #connect(target: { host: string; port: number }, direction: LinkDirection): Promise<void> {
    while (direction.passage === 'partitioned' && !this.#dialer.destroyed) await direction.change()
    if (!this.#dialer.destroyed) this.#target.connect(target)
  }
}

/**
 * Resets a socket. Destroys an ending or unconnected socket instead: Node cannot reset it, and would never close it.
 */
const resetSocket = (socket: net.Socket): void => {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
