import type net from 'node:net'
import type { Clock } from '../../base/clock.js'

export interface Chunk {
  readonly bytes: Buffer
  readonly arrivedMs: number
}

/**
 * A sender is read no further while so much of what it sent waits here: back-pressure passes through the link. A link with a
 * latency of 250 ms still carries 16 MiB in a second.
 */
const WAITING_BYTES_MAX = 4 * 1024 * 1024

/** Data that one side of a connection has sent and the other has not been given yet, with the time at which it came. */
export class ChunkQueue {
  readonly #source: net.Socket
  readonly #clock: Clock
  readonly #chunks: Chunk[] = []
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

  /** Whether everything that came was taken, and whoever takes it has done so with each chunk. */
  get isIdle(): boolean {
    return this.#isAwaited && this.#chunks.length === 0
  }

  /** Returns whether the source may be read on; where not, it is resumed when there is room. */
  push(bytes: Buffer): boolean {
    this.#chunks.push({ bytes, arrivedMs: this.#clock.monotonic() })
    this.#waitingBytes += bytes.length
    this.#wake()
    return this.#waitingBytes < WAITING_BYTES_MAX
  }

  /** The oldest chunk; undefined when the source has ended and all was taken. */
  async next(): Promise<Chunk | undefined> {
    while (this.#chunks.length === 0 && !this.#isEnded) {
      this.#isAwaited = true
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#isAwaited = false
    }
    const chunk = this.#chunks.shift()
    if (!chunk) return undefined
    this.#waitingBytes -= chunk.bytes.length
    if (this.#waitingBytes < WAITING_BYTES_MAX) this.#source.resume()
    return chunk
  }
}
