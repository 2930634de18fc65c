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
 * Limits of the log, counted from the position of the image to the end. Beyond a `Folded` limit, the oldest entries are
 * merged into the image. At a `Max` limit, writers wait until there is space.
 */
export interface LogBounds {
  readonly entriesFolded: number
  readonly bytesFolded: number
  readonly entriesMax: number
  readonly bytesMax: number
  /** Time in milliseconds for which etcd keeps old revisions. A node must read an image within this time. */
  readonly historyMs: number
}

/** The error of a change that was not executed because another node is the leader. */
export class OtherLeads extends Error {
  override readonly name = 'OtherLeads'
}

/** Options of the compactor. `ended` is aborted when the term of this leader is over. */
interface LogCompactorOptions extends EtcdWork {
  readonly reader: EtcdReader
  readonly term: string
  readonly bounds: LogBounds
}

/**
 * Compacts the log while this node is the leader: merges the oldest entries into the image in many small transactions,
 * then records the new position of the image and deletes the entries. Each transaction may be executed more than once.
 * A node that reads the image meanwhile gets consistent data, because it also applies the entries after the image.
 */
export class LogCompactor {
  readonly #options: LogCompactorOptions
  #image: EtcdImageWriter | undefined
  #base: ImageMark
  #end: LogMark
  #replacement: ((base: ImageMark) => Promise<void>) | undefined
  #wake: () => void = () => undefined
  #waitingWriters: (() => void)[] = []
  /** The last error of etcd because it had no space for the image. */
  #full: Error | undefined
  /** The next revision up to which etcd is compacted, and the monotonic time of this revision in milliseconds. */
  #history: { readonly revision: string; readonly atMs: number } | undefined
  #isForgetting = false

  constructor(options: LogCompactorOptions, end: LogMark) {
    this.#options = options
    this.#base = { ...end, life: 0 }
    this.#end = end
  }

  /** Compacts until the term is over. Logs and retries errors. */
  async run(): Promise<void> {
    const { ended, log, clock, bounds } = this.#options
    // Old revisions accumulate even without writes, because nodes renew their announcements.
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
        log.warn('cannot update the image in etcd, trying again in one second', { error })
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
   * Pauses compaction while `replace` replaces the image. Passes the current position of the image, and continues at
   * the position that `replace` returns. Rejects if `replace` rejects.
   */
  whilePaused(replace: (base: ImageMark) => Promise<ImageMark | undefined>): Promise<ImageMark | undefined> {
    return new Promise((resolve, reject) => {
      this.#replacement = (base) => replace(base).then(resolve, reject)
      this.#wake()
    })
  }

  /** Waits until the log has space or the term is over. Rejects with `LogRefused` if etcd is full. */
  async waitForSpace(): Promise<void> {
    const { bounds, ended } = this.#options
    while (!ended.aborted && this.#isOver(bounds.entriesMax, bounds.bytesMax)) {
      if (this.#full) throw new LogRefused(this.#full.message, this.#full)
      await new Promise<void>((resolve) => this.#waitingWriters.push(resolve))
    }
  }

  #wakeWriters(): void {
    for (const wake of this.#waitingWriters.splice(0)) wake()
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

  /** Records the new position of the image and deletes the entries up to this position. */
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

  /**
   * Records a revision, and compacts etcd up to the previous recorded revision if that is older than `historyMs`. etcd
   * does not remove old revisions by itself.
   */
  async #forget(revision: string): Promise<void> {
    const { bounds, clock, connection, log, ended } = this.#options
    const nowMs = clock.monotonic()
    if (this.#history && nowMs - this.#history.atMs < bounds.historyMs) return
    const known = this.#history
    this.#history = { revision, atMs: nowMs }
    if (!known) return
    await connection.ask('Compact', { revision: known.revision }, ended).catch((error: unknown) => {
      // Another node may already have compacted up to this revision.
      if (!ended.aborted && !(error instanceof Error && /compacted/.test(error.message))) {
        log.warn('cannot compact old revisions of etcd', { error })
      }
    })
  }

  /** Executes operations in one transaction. Resolves to its revision. Rejects with `OtherLeads` on another leader. */
  async change(success: readonly RequestOp[]): Promise<string> {
    const { connection, layout, term, ended } = this.#options
    const leads: Compare = { target: 'CREATE', key: layout.leader, create_revision: term }
    const { succeeded, header } = await connection.ask('Txn', { compare: [leads], success }, ended)
    if (!succeeded) throw new OtherLeads('another node is the leader')
    return header.revision
  }
}
