import net from 'node:net'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { Direction } from './faults.js'
import type { Lane } from './lane.js'
import { Pipe } from './pipe.js'

interface ConnectionOptions {
  readonly dialler: net.Socket
  readonly target: { readonly host: string; readonly port: number }
  readonly lanes: Readonly<Record<Direction, Lane>>
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

  constructor({ dialler, target, lanes, clock, random }: ConnectionOptions) {
    this.#dialler = dialler
    // Most of what passes comes from the target: it is read into one buffer, and no new memory is taken for every piece.
    const options: TargetOptions = {
      allowHalfOpen: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (size, bytes) => down.take(Buffer.from(bytes.buffer, bytes.byteOffset, size)),
      },
    }
    this.#target = new net.Socket(options)
    const reset = () => this.reset()
    for (const [source, lane] of [[dialler, lanes.up] as const, [this.#target, lanes.down] as const]) {
      source.setNoDelay(true)
      source.on('error', () => {
        if (lane.passage !== 'partitioned') reset()
      })
    }
    const shared = { clock, random, reset }
    const up = new Pipe({ source: dialler, sink: this.#target, lane: lanes.up, ...shared })
    const down = new Pipe({ source: this.#target, sink: dialler, lane: lanes.down, ...shared })
    dialler.on('data', (bytes: Buffer) => {
      if (!up.take(bytes)) dialler.pause()
    })
    void this.#connect(target, lanes.up)
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
  async #connect(target: { host: string; port: number }, lane: Lane): Promise<void> {
    while (lane.passage === 'partitioned' && !this.#dialler.destroyed) await lane.change()
    if (!this.#dialler.destroyed) this.#target.connect(target)
  }
}

/** A socket that has said goodbye, or was never connected, cannot be reset: Node would keep it open, and the process alive. */
const resetSocket = (socket: net.Socket): void => {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
