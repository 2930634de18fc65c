/** One open audit device: prints entries in its own way and hands the lines to its sink. */
import type { Clock } from '../../base/clock.js'
import { holdsBytes, printJson } from '../../base/json-print.js'
import {
  type AuditEntry,
  type AuditResponseEntry,
  type AuditStyle,
  requestKeysOf,
  describeRequest,
  describeResponse,
  describeTest,
} from './audit-entry.js'
import { FileSink } from './audit-file.js'
import { createRedactor, type WholeDigests } from './audit-hash.js'
import { type AuditOptions, type AuditRecord, parseAuditOptions } from './audit-record.js'
import type { AuditTail } from './audit-tail.js'
import { type AuditSink, discardSink, type LineKind, textSink } from './audit-sink.js'

const NO_KEYS: ReadonlySet<string> = new Set()

export type WriteText = (text: string) => Promise<void>

/** The parts that the devices of a cluster share. */
interface AuditSurroundings {
  readonly headers: () => AuditStyle['headers']
  readonly wholes: WholeDigests
  readonly standardOutput: WriteText
  readonly clock: Clock
  /** Told of each line once it is written, of devices that write and hide what is secret. */
  readonly tail: Pick<AuditTail, 'add'>
}

export class AuditDevice {
  readonly record: AuditRecord
  readonly #prefix: string
  readonly #style: AuditStyle
  readonly #sink: AuditSink
  readonly #isTested: boolean
  readonly #tail: AuditSurroundings['tail'] | undefined

  /** Throws LogicalError (400) for options that cannot be. Opens nothing yet. */
  constructor(record: AuditRecord, { headers, wholes, standardOutput, clock, tail }: AuditSurroundings) {
    const options = parseAuditOptions(record.options)
    this.record = record
    this.#prefix = options.prefix
    this.#isTested = options.isTested
    this.#tail = keepsTail(options) ? tail : undefined
    this.#style = {
      redactor: createRedactor(record.salt, options),
      wholes,
      elidesLists: options.elidesLists,
      get headers() {
        return headers()
      },
    }
    this.#sink =
      options.filePath === 'discard'
        ? discardSink
        : options.filePath === 'stdout'
          ? textSink(standardOutput)
          : new FileSink({ path: options.filePath, mode: options.mode, clock })
  }

  async logRequest(entry: AuditEntry, timeMs: number): Promise<void> {
    const { data } = entry.request
    const plainKeys = requestKeysOf(entry)
    // Large data is digested before the entry is put together, which is done in one turn.
    if (!this.#style.redactor.fits(data, plainKeys)) await this.#style.wholes.prepare(data)
    await this.#append(describeRequest(entry, timeMs, this.#style), 'request')
  }

  async logResponse(entry: AuditResponseEntry, timeMs: number): Promise<void> {
    const data = entry.response?.data
    if (holdsBytes(data) && !this.#style.redactor.fits(data, NO_KEYS)) await this.#style.wholes.prepare(data)
    await this.#append(describeResponse(entry, timeMs, this.#style), 'response')
  }

  /** Writes a line that says nothing, unless the options say not to: a file may open and still take nothing. */
  async test(id: string, timeMs: number): Promise<void> {
    if (this.#isTested) await this.#append(describeTest(id, timeMs), 'request')
  }

  open(): Promise<void> {
    return this.#sink.open()
  }

  reopen(): Promise<void> {
    return this.#sink.reopen()
  }

  close(): Promise<void> {
    return this.#sink.close()
  }

  async #append(line: Record<string, unknown>, kind: LineKind): Promise<void> {
    const text = printJson(line)
    await this.#sink.append(`${this.#prefix}${text}\n`, kind)
    this.#tail?.add(this.record.path, text)
  }
}

/** What a device prints with `log_raw` is for nobody but whoever may read its file. */
export const keepsTail = ({ isRaw, filePath }: Pick<AuditOptions, 'isRaw' | 'filePath'>): boolean =>
  !isRaw && filePath !== 'discard'
