import type net from 'node:net'
import type { Clock } from '../../base/clock.js'

export interface Piece {
  readonly bytes: Buffer
  readonly arrivedMs: number
}

/** A sender is read no further while so much of what it sent waits here: back-pressure passes through the link. */
const WAITING_BYTES_MAX = 256 * 1024

/** Data that one side of a connection has sent and the other has not been given yet, with the time at which it came. */
export class PieceQueue {
  readonly #source: net.Socket
  readonly #clock: Clock
  readonly #pieces: Piece[] = []
  #waitingBytes = 0
  #isAwaited = false
  #isEnded = false
  #wake: () => void = () => undefined

  constructor(source: net.Socket, clock: Clock) {
    this.#source = source
    this.#clock = clock
    const end = () => {
      this.#isEnded = true
      this.#wake()
    }
    source.on('end', end)
    source.on('close', end)
  }

  /** Whether everything that came was taken, and whoever takes it has done so with each piece. */
  get isIdle(): boolean {
    return this.#isAwaited && this.#pieces.length === 0
  }

  /** Returns whether the source may be read on; where not, it is resumed when there is room. */
  push(bytes: Buffer): boolean {
    this.#pieces.push({ bytes, arrivedMs: this.#clock.monotonic() })
    this.#waitingBytes += bytes.length
    this.#wake()
    return this.#waitingBytes < WAITING_BYTES_MAX
  }

  /** The oldest piece; undefined when the source has ended and all was taken. */
  async next(): Promise<Piece | undefined> {
    while (this.#pieces.length === 0 && !this.#isEnded) {
      this.#isAwaited = true
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#isAwaited = false
    }
    const piece = this.#pieces.shift()
    if (!piece) return undefined
    this.#waitingBytes -= piece.bytes.length
    if (this.#waitingBytes < WAITING_BYTES_MAX) this.#source.resume()
    return piece
  }
}
