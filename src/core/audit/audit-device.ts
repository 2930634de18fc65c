/** One open audit device: formats entries according to its options and passes the lines to its sink. */
import type { Clock } from '../../base/clock.js'
import { holdsBytes, printJson } from '../../base/json-print.js'
import {
  type AuditEntry,
  type AuditResponseEntry,
  type AuditStyle,
  describeEntry,
  describeTest,
  requestKeysOf,
} from './audit-entry.js'
import { type AuditSink, discardSink, FileSink, type LineKind, textSink } from './audit-file.js'
import { createRedactor, type WholeDigests } from './audit-hash.js'
import { type AuditOptions, type AuditRecord, type AuditTail, parseAuditOptions } from './audit-record.js'

const NO_KEYS: ReadonlySet<string> = new Set()

export type WriteText = (text: string) => Promise<void>

/** Dependencies shared by all audit devices of a cluster. */
interface AuditSurroundings {
  readonly headers: () => AuditStyle['headers']
  readonly wholes: WholeDigests
  readonly standardOutput: WriteText
  readonly clock: Clock
  /** Receives each line of a device after it is written, except for devices for which `keepsTail` returns false. */
  readonly tail: Pick<AuditTail, 'add'>
}

export class AuditDevice {
  readonly record: AuditRecord
  readonly #prefix: string
  readonly #style: AuditStyle
  readonly sink: AuditSink
  readonly #isTested: boolean
  readonly #tail: AuditSurroundings['tail'] | undefined

  /** Throws LogicalError (400) for invalid options. Does not open anything yet. */
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
    this.sink =
      options.filePath === 'discard'
        ? discardSink
        : options.filePath === 'stdout'
          ? textSink(standardOutput)
          : new FileSink({ path: options.filePath, mode: options.mode, clock })
  }

  async logRequest(entry: AuditEntry, timeMs: number): Promise<void> {
    const { data } = entry.request
    const plainKeys = requestKeysOf(entry)
    // Hashes large data in advance, because the entry itself is built in one turn of the event loop.
    if (!this.#style.redactor.fits(data, plainKeys)) await this.#style.wholes.prepare(data)
    await this.#append(describeEntry('request', entry, timeMs, this.#style), 'request')
  }

  async logResponse(entry: AuditResponseEntry, timeMs: number): Promise<void> {
    const data = entry.response?.data
    if (holdsBytes(data) && !this.#style.redactor.fits(data, NO_KEYS)) await this.#style.wholes.prepare(data)
    await this.#append(describeEntry('response', entry, timeMs, this.#style), 'response')
  }

  /** Writes a test line, unless the options disable the test. A file can open successfully and still reject writes. */
  async test(id: string, timeMs: number): Promise<void> {
    if (this.#isTested) await this.#append(describeTest(id, timeMs), 'request')
  }

  async #append(line: Record<string, unknown>, kind: LineKind): Promise<void> {
    const text = printJson(line)
    await this.sink.append(`${this.#prefix}${text}\n`, kind)
    this.#tail?.add(this.record.path, text)
  }
}

/**
 * Returns whether the tail keeps the lines of a device. With `log_raw` the lines contain secrets, so only readers of
 * the file may see them.
 */
export const keepsTail = ({ isRaw, filePath }: Pick<AuditOptions, 'isRaw' | 'filePath'>): boolean =>
  !isRaw && filePath !== 'discard'
