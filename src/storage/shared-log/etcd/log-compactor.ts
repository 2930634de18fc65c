import { addAbortListener } from 'node:events'
import { decodeBatch, positionOf } from '../raw-batch.js'
import { type LogEntry, LogRefused } from '../shared-log.js'
import type { Compare, RequestOp } from './etcd-api.js'
import { isFull } from './etcd-connection.js'
import { type EtcdWork, findForgettable } from './etcd-forgetting.js'
import { EtcdImageWriter } from './etcd-image-writer.js'
import { encodeMark, type ImageMark, type LogMark, parseMark } from './etcd-layout.js'
import { forgetOthers } from './etcd-replacement.js'
import type { EtcdReader } from './etcd-reader.js'

const RETRY_MS = 1000

/**
 * Limits of the log between the image and the end of the log. If the log exceeds a `Folded` limit, the image advances.
 * If it reaches a maximum, writers wait.
 */
export interface LogBounds {
  readonly entriesFolded: number
  readonly bytesFolded: number
  readonly entriesMax: number
  readonly bytesMax: number
  /** Time in milliseconds for which etcd keeps old revisions. A reader must read an image within this time. */
  readonly historyMs: number
}

export class OtherLeads extends Error {
  override readonly name = 'OtherLeads'
}

/** `ended` is aborted when the term is over. */
interface LogCompactorOptions extends EtcdWork {
  readonly reader: EtcdReader
  readonly term: string
  readonly bounds: LogBounds
}

/**
 * Compacts the log into the image while this node is the leader. Merges the oldest entries into the image in many small
 * transactions, each of which may be repeated, then records the new position and deletes the entries. A concurrent
 * reader applies the entries on top, so it sees consistent data.
 */
export class LogCompactor {
  readonly #options: LogCompactorOptions
  #image: EtcdImageWriter | undefined
  #base: ImageMark
  #end: LogMark
  #replacement: ((base: ImageMark) => Promise<void>) | undefined
  #wake: () => void = () => undefined
  #onRoom: (() => void)[] = []
  /** The last error that etcd returned because it had no space for the image. */
  #full: Error | undefined
  /** The revision that can be compacted after its retention time. */
  #history: { readonly revision: string; readonly atMs: number } | undefined
  #isForgetting = false

  constructor(options: LogCompactorOptions, end: LogMark) {
    this.#options = options
    this.#base = { ...end, life: 0 }
    this.#end = end
  }

  /** Runs until the term is over. */
  async run(): Promise<void> {
    const { ended, log, clock, bounds } = this.#options
    // Idle nodes still renew their announcements, so old revisions accumulate.
    const forgetting = clock.setRepeating(bounds.historyMs, () => {
      this.#isForgetting = true
      this.#wake()
    })
    while (!ended.aborted) {
      try {
        await this.#begin()
        while (!ended.aborted) await this.#step()
      } catch (error) {
        if (ended.aborted) break
        log.warn('the image in etcd could not be updated', { error })
        if (isFull(error) && error instanceof Error) this.#full = error
        this.#wakeWriters()
        await clock.sleep(RETRY_MS, ended).catch(() => undefined)
      }
    }
    forgetting.cancel()
    this.#wakeWriters()
  }

  appended(end: LogMark): void {
    this.#end = end
    this.#wake()
  }

  /**
   * Runs `replace`, which replaces the image, while compaction is paused. Passes the position of the image, and
   * continues at the position that `replace` returns.
   */
  whileStill(replace: (base: ImageMark) => Promise<ImageMark | undefined>): Promise<ImageMark | undefined> {
    return new Promise((resolve, reject) => {
      this.#replacement = (base) => replace(base).then(resolve, reject)
      this.#wake()
    })
  }

  /** Resolves when the log has space, or when the term is over. Rejects with `LogRefused` while etcd is full. */
  async whenRoom(): Promise<void> {
    const { bounds, ended } = this.#options
    while (!ended.aborted && this.#isOver(bounds.entriesMax, bounds.bytesMax)) {
      if (this.#full) throw new LogRefused(this.#full.message, this.#full)
      await new Promise<void>((resolve) => this.#onRoom.push(resolve))
    }
  }

  #wakeWriters(): void {
    for (const onRoom of this.#onRoom.splice(0)) onRoom()
  }

  #isOver(entries: number, bytes: number): boolean {
    return this.#end.index - this.#base.index >= entries || this.#end.bytes - this.#base.bytes >= bytes
  }

  async #begin(): Promise<void> {
    const { connection, layout, ended } = this.#options
    const { kvs } = await connection.ask('Range', { key: layout.base }, ended)
    this.#base = parseMark(kvs[0]?.value)
    const { life } = this.#base
    this.#image = await EtcdImageWriter.open(layout.image(life), connection, ended, (operations) =>
      this.change(operations),
    )
    const change = (operations: readonly RequestOp[]) => this.change(operations)
    const forgettable = await findForgettable({ connection, layout, ended })
    if (forgettable === 'later') await forgetOthers({ ...this.#options, change }, life)
    else await change(layout.withoutOthers(life))
  }

  async #step(): Promise<void> {
    const { bounds, connection, layout, reader, ended } = this.#options
    const replacement = this.#replacement
    this.#replacement = undefined
    if (replacement) {
      await replacement(this.#base)
      return this.#begin()
    }
    if (this.#isOver(bounds.entriesFolded, bounds.bytesFolded)) {
      await this.#fold(await reader.entriesAfter(this.#base, ended))
      return
    }
    if (this.#isForgetting) {
      this.#isForgetting = false
      const { header } = await connection.ask('Range', { key: layout.base }, ended)
      return this.#forget(header.revision)
    }
    using _ = addAbortListener(ended, () => this.#wake())
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  async #fold(entries: readonly LogEntry[]): Promise<void> {
    const last = entries.at(-1)
    if (!last) return
    const values = new Map(
      entries.flatMap((entry) => decodeBatch(entry).map(({ key, value }) => [key, value] as const)),
    )
    await this.#image?.write(values)
    await this.#advance({
      ...positionOf(last),
      life: this.#base.life,
      bytes: entries.reduce((sum, entry) => sum + entry.bytes.length, this.#base.bytes),
    })
  }

  /** Advances the position of the image and deletes the entries up to it. */
  async #advance(base: ImageMark): Promise<void> {
    const { layout } = this.#options
    const start = layout.log(0)
    const operations = [
      { request_put: { key: layout.base, value: encodeMark(base) } },
      { request_delete_range: { key: start, range_end: layout.log(base.index + 1) } },
      { request_delete_range: { key: layout.part(0, 0), range_end: layout.afterParts(base.index) } },
    ]
    const revision = await this.change(operations)
    this.#base = base
    this.#full = undefined
    this.#wakeWriters()
    await this.#forget(revision)
  }

  /** Compacts etcd up to a revision after its retention time, because etcd does not remove old revisions by itself. */
  async #forget(revision: string): Promise<void> {
    const { bounds, clock, connection, log, ended } = this.#options
    const nowMs = clock.monotonic()
    if (this.#history && nowMs - this.#history.atMs < bounds.historyMs) return
    const known = this.#history
    this.#history = { revision, atMs: nowMs }
    if (!known) return
    await connection.ask('Compact', { revision: known.revision }, ended).catch((error: unknown) => {
      // Another node may have compacted the revision already.
      if (!ended.aborted && !(error instanceof Error && /compacted/.test(error.message))) {
        log.warn('old revisions of etcd could not be compacted', { error })
      }
    })
  }

  /** Resolves to the revision of the change. Rejects with `OtherLeads` if this node is no longer the leader. */
  async change(success: readonly RequestOp[]): Promise<string> {
    const { connection, layout, term, ended } = this.#options
    const leads: Compare = { target: 'CREATE', key: layout.leader, create_revision: term }
    const { succeeded, header } = await connection.ask('Txn', { compare: [leads], success }, ended)
    if (!succeeded) throw new OtherLeads('another node is the leader')
    return header.revision
  }
}
