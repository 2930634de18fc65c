import type net from 'node:net'
import type { Clock } from '../../base/clock.js'

export interface Chunk {
  readonly bytes: Buffer
  readonly arrivedMs: number
}

/**
 * Reading from a sender pauses at this number of queued bytes, which propagates back-pressure. A link with a latency of 250 ms
 * still transfers 16 MiB per second.
 */
const WAITING_BYTES_MAX = 4 * 1024 * 1024

/** Data that one side has sent and the other has not received yet, with arrival times. */
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

  /** Whether all data was taken and each chunk was processed completely. */
  get isIdle(): boolean {
    return this.#isAwaited && this.#chunks.length === 0
  }

  /** Adds a chunk. Returns false if reading must pause; the source is resumed when there is space. */
  push(bytes: Buffer): boolean {
    this.#chunks.push({ bytes, arrivedMs: this.#clock.monotonic() })
    this.#waitingBytes += bytes.length
    this.#wake()
    return this.#waitingBytes < WAITING_BYTES_MAX
  }

  /** Returns the oldest chunk. Undefined if the source has ended and the queue is empty. */
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
