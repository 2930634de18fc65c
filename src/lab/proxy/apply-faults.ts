import { once } from 'node:events'
import type net from 'node:net'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { Faults } from './link-faults.js'
import type { LinkDirection } from './direction.js'

interface PipeOptions {
  readonly source: net.Socket
  readonly sink: net.Socket
  readonly direction: LinkDirection
  readonly clock: Clock
  readonly random: Random
  /** Resets the connection on both sides immediately. */
  readonly reset: () => void
}

/**
 * Copies data from `source` to `sink` in order, with the faults of a direction. Without faults or waiting data, chunks
 * are written to the sink at once. Other chunks wait in a queue.
 */
export class Pipe {
  /** Resolves when the end of the source was forwarded after all its data, or when either side is closed. */
  readonly finished: Promise<void>
  readonly #options: PipeOptions
  readonly #queue: ChunkQueue
  #passedBytes = 0
  #isSinkBusy = false

  constructor(options: PipeOptions) {
    this.#options = options
    this.#queue = new ChunkQueue(options.source, options.clock)
    this.finished = this.#run()
  }

  /**
   * Accepts a chunk from the source. Returns false if reading must pause; the source is resumed later. The memory of
   * `bytes` must not be reused until then, or until this returns true.
   */
  take(bytes: Buffer): boolean {
    const { direction, sink } = this.#options
    if (!direction.isClear || !this.#queue.isIdle || sink.pending) return this.#queue.push(Buffer.from(bytes))
    this.#count(bytes)
    sink.write(bytes, this.#resumeSource)
    this.#isSinkBusy = sink.writableLength > 0
    return !this.#isSinkBusy
  }

  readonly #resumeSource = (): void => {
    const { source, sink } = this.#options
    if (!this.#isSinkBusy || (sink.writableLength > 0 && !sink.destroyed)) return
    this.#isSinkBusy = false
    source.resume()
  }

  #count({ length }: Buffer): void {
    this.#passedBytes += length
    this.#options.direction.countPassed(length)
  }

  async #run(): Promise<void> {
    const { source, sink, direction, clock, random, reset } = this.#options
    let fraction: number | undefined
    const faults = () => direction.faultsFor(() => (fraction ??= drawFraction(random)))
    const sinkClosed = new Promise<void>((resolve) => sink.once('close', resolve))
    for (;;) {
      const chunk = await this.#queue.next()
      while (direction.passage !== 'open' && !sink.destroyed) await Promise.race([direction.change(), sinkClosed])
      if (sink.destroyed) return
      if (!chunk) {
        const { slow_close } = faults()
        if (slow_close) await Promise.race([clock.sleep(slow_close.ms), sinkClosed])
        if (source.errored) reset()
        else await untilEnded(sink)
        return
      }
      const { timeout, reset_peer, limit_data } = faults()
      if (timeout) {
        if (timeout.ms === 0) await direction.change()
        else await clock.sleep(timeout.ms)
        reset()
        return
      }
      if (reset_peer && this.#passedBytes === 0) clock.setTimer(reset_peer.ms, reset)
      await delay(chunk, faults(), this.#options)
      const allowedBytes = limit_data ? limit_data.bytes - this.#passedBytes : chunk.bytes.length
      if (sink.destroyed) return
      const passed = chunk.bytes.subarray(0, Math.max(allowedBytes, 0))
      this.#count(passed)
      const { slicer } = faults()
      if (slicer) await passSliced(passed, slicer, this.#options)
      else if (!sink.write(passed)) await untilDrained(sink)
      if (allowedBytes < chunk.bytes.length) {
        source.destroy()
        await untilEnded(sink)
        return
      }
    }
  }
}

const delay = async (chunk: Chunk, { latency, bandwidth }: Faults, { clock, random }: PipeOptions): Promise<void> => {
  if (latency) {
    const jitterMs = (2 * drawFraction(random) - 1) * (latency.jitterMs ?? 0)
    const waitMs = chunk.arrivedMs + latency.ms + jitterMs - clock.monotonic()
    if (waitMs > 0) await clock.sleep(waitMs)
  }
  if (bandwidth) await clock.sleep((chunk.bytes.length / bandwidth.bytesPerSecond) * 1000)
}

/** Writes data in chunks of about the configured size, in order. */
const passSliced = async (
  bytes: Buffer,
  { averageBytes, variationBytes = 0, delayMs = 0 }: NonNullable<Faults['slicer']>,
  { sink, clock, random }: PipeOptions,
): Promise<void> => {
  let rest = bytes
  while (rest.length > 0 && !sink.destroyed) {
    const size = Math.max(1, Math.round(averageBytes + (2 * drawFraction(random) - 1) * variationBytes))
    if (!sink.write(rest.subarray(0, size))) await untilDrained(sink)
    rest = rest.subarray(size)
    if (rest.length > 0 && delayMs > 0) await clock.sleep(delayMs)
  }
}

/** Returns a random fraction from 0 to 1. */
const drawFraction = (random: Random): number => random.bytes(2).readUInt16BE() / 0xffff

/** Ends the sink, and waits until the kernel has all its data. A socket that is destroyed earlier drops the rest. */
const untilEnded = (sink: net.Socket): Promise<void> => new Promise((resolve) => sink.end(() => resolve()))

const untilDrained = async (sink: net.Socket): Promise<void> => {
  const stop = new AbortController()
  const { signal } = stop
  const closed = once(sink, 'close', { signal }).catch(() => undefined)
  const drained = once(sink, 'drain', { signal }).catch(() => undefined)
  await Promise.race([closed, drained])
  stop.abort()
}

interface Chunk {
  readonly bytes: Buffer
  readonly arrivedMs: number
}

/**
 * Reading from a sender pauses at this number of queued bytes, which propagates back-pressure. A link with a latency of
 * 250 ms still transfers 16 MiB per second.
 */
const WAITING_BYTES_MAX = 4 * 1024 * 1024

/** Data that one side has sent and the other has not received yet, with arrival times. */
class ChunkQueue {
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
