import net from 'node:net'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { Direction } from './direction.js'
import type { LinkDirection } from './link-direction.js'
import { Pipe } from './apply-faults.js'

interface ConnectionOptions {
  readonly dialler: net.Socket
  readonly target: { readonly host: string; readonly port: number }
  readonly directions: Readonly<Record<Direction, LinkDirection>>
  readonly clock: Clock
  readonly random: Random
}

/** As much as Node reads at once. */
const READ_BYTES = 64 * 1024

/** The types of Node give `onread` to its functions that connect, which pass it on to here. */
type TargetOptions = net.SocketConstructorOpts & Required<Pick<net.ConnectOpts, 'onread'>>

/** Two sockets and a pipe each way. */
export class Connection {
  readonly #dialler: net.Socket
  readonly #target: net.Socket
  readonly #finished: Promise<void>

  constructor({ dialler, target, directions, clock, random }: ConnectionOptions) {
    this.#dialler = dialler
    // Most of what passes comes from the target: it is read into one buffer, and no new memory is taken for every chunk.
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

  /** Ends it at once on both sides, with RST where the kernel still can. */
  reset(): void {
    resetSocket(this.#dialler)
    resetSocket(this.#target)
  }

  /** Through a cut link nobody reaches the target, so it is dialled only when the way there is whole. */
  async #connect(target: { host: string; port: number }, direction: LinkDirection): Promise<void> {
    while (direction.passage === 'partitioned' && !this.#dialler.destroyed) await direction.change()
    if (!this.#dialler.destroyed) this.#target.connect(target)
  }
}

/** A socket that has said goodbye, or was never connected, cannot be reset: Node would keep it open, and the process alive. */
const resetSocket = (socket: net.Socket): void => {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
