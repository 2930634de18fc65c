import net from 'node:net'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { Connection } from './connection.js'
import { type Direction, directionsOf, type Passage, type Way } from './direction.js'
import type { FaultName, Faults } from './link-faults.js'
import { LinkDirection } from './link-direction.js'

interface LinkOptions {
  /** Port on 127.0.0.1; 0 chooses a free one. */
  readonly port?: number
  readonly target: { readonly host: string; readonly port: number }
  readonly clock: Clock
  readonly random: Random
  /** A latency that is no fault: it stays when faults are healed. */
  readonly distance?: Faults['latency'] | undefined
}

/**
 * A TCP proxy between two clusters, to be put on the address that one of them advertises. Connections pass untouched until
 * a fault is set; every fault also meets connections that stand already. Whoever opens it closes it.
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

  /** `127.0.0.1:port`. */
  get address(): string {
    return `127.0.0.1:${this.#port}`
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Bytes passed each way since the link was opened: what the clusters said, TLS and all, without what TCP adds. */
  get passedBytes(): Readonly<Record<Direction, number>> {
    return { up: this.#directions.up.passedBytes, down: this.#directions.down.passedBytes }
  }

  /** How often somebody has connected so far. */
  get dialCount(): number {
    return this.#dialCount
  }

  /** Whether traffic passes as if nothing stood here. */
  get isClear(): boolean {
    const { distance } = this.#options
    const isOpen = ({ passage, faults: { latency, ...others } }: LinkDirection) =>
      passage === 'open' && latency === distance && Object.keys(others).length === 0
    return this.#server !== undefined && isOpen(this.#directions.up) && isOpen(this.#directions.down)
  }

  /** Nothing listens any more, and what was connected is reset. */
  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const connection of this.#connections) connection.reset()
    if (server) await new Promise((done) => server.close(done))
  }

  /** Listens again, on the same port; never once it is closed, whoever heals it then. */
  async up(): Promise<void> {
    if (this.#server || this.#isClosed) return
    const server = net.createServer({ allowHalfOpen: true }, (dialler) => this.#accept(dialler))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#port = (server.address() as net.AddressInfo).port
    this.#server = server
    if (this.#isClosed) await this.down()
  }

  /** Cuts the cable: no byte and no end of a connection passes. */
  partition(way: Way = 'both'): void {
    this.#setPassage(way, 'partitioned')
  }

  heal(way: Way = 'both'): void {
    this.#setPassage(way, 'open')
  }

  /** Bytes wait until `release`. */
  hold(way: Way = 'both'): void {
    this.#setPassage(way, 'held')
  }

  release(way: Way = 'both'): void {
    this.#setPassage(way, 'open')
  }

  /** Everything that one direction is to do from now on. */
  setDirection(
    direction: Direction,
    { passage, faults }: { readonly passage: Passage; readonly faults: Faults },
  ): void {
    this.#directions[direction].setFaults(this.#withDistance(faults))
    this.#directions[direction].setPassage(passage)
  }

  /** Sets one fault and leaves the others. */
  setFault<N extends FaultName>(name: N, fault: NonNullable<Faults[N]>, way: Way = 'both'): void {
    for (const direction of directionsOf(way)) {
      const state = this.#directions[direction]
      state.setFaults({ ...state.faults, [name]: fault })
    }
  }

  /** Removes every fault, and opens what is held or partitioned. */
  clearFaults(way: Way = 'both'): void {
    for (const direction of directionsOf(way)) this.#directions[direction].setFaults(this.#withDistance({}))
    this.#setPassage(way, 'open')
  }

  /** Resets what is connected now; new connections pass. */
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

  #accept(dialler: net.Socket): void {
    this.#dialCount++
    const { target, clock, random } = this.#options
    const connection = new Connection({ dialler, target, directions: this.#directions, clock, random })
    this.#connections.add(connection)
    void connection.finished.then(() => this.#connections.delete(connection))
  }
}
