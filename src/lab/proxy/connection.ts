import net from 'node:net'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { Direction, LinkDirection } from './direction.js'
import { Pipe } from './apply-faults.js'

interface ConnectionOptions {
  readonly dialler: net.Socket
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
export class Connection {
  readonly #dialler: net.Socket
  readonly #target: net.Socket
  readonly #finished: Promise<void>

  constructor({ dialler, target, directions, clock, random }: ConnectionOptions) {
    this.#dialler = dialler
    // Most data comes from the target, so it is read into one buffer instead of new memory for each chunk.
    const options: TargetOptions = {
      allowHalfOpen: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (size, bytes) => down.take(Buffer.from(bytes.buffer, bytes.byteOffset, size)),
      },
    }
    this.#target = new net.Socket(options)
    const reset = () => this.reset()
    for (const [source, direction] of [[dialler, directions.up] as const, [this.#target, directions.down] as const]) {
      source.setNoDelay(true)
      source.on('error', () => {
        if (direction.passage !== 'partitioned') reset()
      })
    }
    const shared = { clock, random, reset }
    const up = new Pipe({ source: dialler, sink: this.#target, direction: directions.up, ...shared })
    const down = new Pipe({ source: this.#target, sink: dialler, direction: directions.down, ...shared })
    dialler.on('data', (bytes: Buffer) => {
      if (!up.take(bytes)) dialler.pause()
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
    resetSocket(this.#dialler)
    resetSocket(this.#target)
  }

  /** Dials the target only while this direction is open: a partition prevents new connections. */
  async #connect(target: { host: string; port: number }, direction: LinkDirection): Promise<void> {
    while (direction.passage === 'partitioned' && !this.#dialler.destroyed) await direction.change()
    if (!this.#dialler.destroyed) this.#target.connect(target)
  }
}

/** Closes a socket. Node cannot reset a socket that is ending or never connected, and would keep it and the process alive. */
const resetSocket = (socket: net.Socket): void => {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
