import type { Entry } from '../../engine/engine.js'
import { previousHashOf, positionOf } from '../raw-batch.js'
import { ImageNeeded, type LogEntry, type LogImage, type LogPosition } from '../shared-log.js'
import type { KeyValue, RangeRequest, RangeResponse } from './etcd-api.js'
import type { EtcdConnection } from './etcd-connection.js'
import {
  type EtcdImageLayout,
  endOf,
  entryHashOf,
  type EtcdLayout,
  type LogMark,
  openValue,
  parseMark,
} from './etcd-layout.js'

/** Maximum log entries per request. Each key in the response has a value of at most 1 MiB. */
const PAGE_ENTRIES = 32
/** Minimum and maximum keys of the image per request. The number doubles while responses stay below `PAGE_BYTES`. */
const PAGE_KEYS = { min: 32, max: 2048 }
const PAGE_BYTES = 4 * 1024 * 1024

/** A past revision of etcd, and the signal that aborts reads at this revision. */
interface Past {
  readonly revision: string
  readonly signal: AbortSignal | undefined
}

/** Reads the log and the image from etcd. */
export class EtcdReader {
  readonly #connection: EtcdConnection
  readonly #layout: EtcdLayout

  constructor(connection: EtcdConnection, layout: EtcdLayout) {
    this.#connection = connection
    this.#layout = layout
  }

  async lastIndex(signal: AbortSignal): Promise<number> {
    const { kvs } = await this.#connection.ask('Range', { key: this.#layout.end }, signal)
    return parseMark(kvs[0]?.value).index
  }

  async reaches({ index, hash }: LogPosition, signal?: AbortSignal): Promise<boolean> {
    const { base, found } = await this.#readWithBase({ key: this.#layout.log(index) }, signal)
    const first = found.kvs[0]
    if (base.index === index) return base.hash.equals(hash)
    return first !== undefined && entryHashOf(first.value).equals(hash)
  }

  /** Resolves to the next entries after a position. Rejects with `ImageNeeded` if the log no longer has them. */
  async entriesAfter(position: LogPosition, signal?: AbortSignal): Promise<readonly LogEntry[]> {
    const { base, found } = await this.#readWithBase(this.#rangeAfter(position), signal)
    if (base.index > position.index) throw new ImageNeeded(`the log begins after entry ${base.index}`)
    return this.#openEntries(found.kvs, position, { signal })
  }

  /** Resolves to the image of the log. The signal also aborts later reads of the chunks and entries. */
  async readImage(signal: AbortSignal): Promise<LogImage> {
    const { base, end } = this.#layout
    const success = [base, end].map((key) => ({ request_range: { key } }))
    const { responses, header } = await this.#connection.ask('Txn', { compare: [], success }, signal)
    const [from, to] = responses.map(({ response_range }) => parseMark(response_range?.kvs[0]?.value))
    if (!from || !to) throw new Error('a response is missing')
    const { revision } = header
    return {
      position: from,
      chunks: () => this.#chunks(this.#layout.image(from.life), revision, signal),
      rest: () => this.#rest(from, to, { revision, signal }),
    }
  }

  async *#rest(from: LogPosition, to: LogPosition, past: Past): AsyncGenerator<LogEntry> {
    for (let position = from; position.index < to.index; ) {
      const { kvs } = await this.#askPast({ ...this.#rangeAfter(position), revision: past.revision }, past.signal)
      const entries = await this.#openEntries(kvs, position, past)
      yield* entries
      const last = entries.at(-1)
      if (!last) throw new ImageNeeded(`entry ${position.index + 1} is not in the log`)
      position = positionOf(last)
    }
  }

  #rangeAfter({ index }: LogPosition): RangeRequest {
    const range_end = endOf(this.#layout.log(0).subarray(0, -14))
    return { key: this.#layout.log(index + 1), range_end, limit: PAGE_ENTRIES }
  }

  /** Decodes entries. Rejects with `ImageNeeded` if they do not follow the position without a gap. */
  async #openEntries(kvs: readonly KeyValue[], position: LogPosition, when: Partial<Past>): Promise<LogEntry[]> {
    const entries: LogEntry[] = []
    let before = position
    for (const { key, value } of kvs) {
      const index = this.#layout.logIndexOf(key)
      const entry = { index, bytes: await this.#open(index, value, when) }
      if (index !== before.index + 1 || !previousHashOf(entry.bytes).equals(before.hash)) {
        throw new ImageNeeded(`entry ${index} does not follow entry ${before.index}`)
      }
      before = positionOf(entry)
      entries.push(entry)
    }
    return entries
  }

  async *#chunks(image: EtcdImageLayout, revision: string, signal: AbortSignal): AsyncGenerator<readonly Entry[]> {
    const start = image.data('')
    let key = start
    for (let limit = PAGE_KEYS.min; ; ) {
      const { kvs, more } = await this.#askPast({ key, range_end: endOf(start), limit, revision }, signal)
      const entries: Entry[] = []
      for (const kv of kvs) entries.push(await this.#openData(kv, image, { revision, signal }))
      if (entries.length > 0) yield entries
      const last = kvs.at(-1)
      if (!more || !last) return
      key = Buffer.concat([last.key, Buffer.alloc(1)])
      const bytes = kvs.reduce((sum, { value }) => sum + value.length, 0)
      limit = bytes < PAGE_BYTES ? Math.min(limit * 2, PAGE_KEYS.max) : PAGE_KEYS.min
    }
  }

  /**
   * Reads a value of the image. If the value was being written at this revision, the log entries after the image repair
   * it.
   */
  async #openData({ key, value }: KeyValue, image: EtcdImageLayout, { revision, signal }: Past): Promise<Entry> {
    const rawKey = image.rawKeyOf(key)
    const opened = openValue(value)
    if (typeof opened !== 'number') return { key: rawKey, value: opened }
    const parts: Buffer[] = []
    for (let part = 1; part <= opened; part++) {
      const { kvs } = await this.#askPast({ key: image.data(rawKey, part), revision }, signal)
      parts.push(kvs[0]?.value ?? Buffer.alloc(0))
    }
    return { key: rawKey, value: Buffer.concat(parts) }
  }

  /** Reads at a past revision. Rejects with `ImageNeeded` if etcd has compacted this revision. */
  async #askPast(request: RangeRequest, signal: AbortSignal | undefined): Promise<RangeResponse> {
    try {
      return await this.#connection.ask('Range', request, signal)
    } catch (cause) {
      if (cause instanceof Error && /compacted/.test(cause.message)) {
        throw new ImageNeeded('the image was compacted during the read', { cause })
      }
      throw cause
    }
  }

  async #open(index: number, first: Buffer, { revision, signal }: Partial<Past>): Promise<Buffer> {
    const opened = openValue(first)
    if (typeof opened !== 'number') return opened
    const parts: Buffer[] = []
    for (let part = 0; part < opened; part++) {
      const key = this.#layout.part(index, part)
      const { kvs } = await this.#askPast({ key, ...(revision !== undefined && { revision }) }, signal)
      const value = kvs[0]?.value
      if (!value) throw new ImageNeeded(`entry ${index} was removed from the log`)
      parts.push(value)
    }
    return Buffer.concat(parts)
  }

  async #readWithBase(
    range: { readonly key: Buffer; readonly range_end?: Buffer; readonly limit?: number },
    signal: AbortSignal | undefined,
  ): Promise<{ readonly base: LogMark; readonly found: RangeResponse }> {
    const success = [{ request_range: { key: this.#layout.base } }, { request_range: range }]
    const { responses } = await this.#connection.ask('Txn', { compare: [], success }, signal)
    const [base, found] = responses.map(({ response_range }) => response_range)
    if (!base || !found) throw new Error('a response is missing')
    return { base: parseMark(base.kvs[0]?.value), found }
  }
}
