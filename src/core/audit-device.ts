/** One open audit device: prints entries in its own way and hands the lines to its sink. */
import { printJson } from '../logical/json-text.js'
import {
  type AuditEntry,
  type AuditResponseEntry,
  type AuditStyle,
  describeRequest,
  describeResponse,
} from './audit-entry.js'
import { createHider } from './audit-hash.js'
import { type AuditRecord, parseAuditOptions } from './audit-record.js'
import { type AuditSink, discardSink, FileSink, textSink } from './audit-sink.js'

export type WriteText = (text: string) => Promise<void>

export class AuditDevice {
  readonly record: AuditRecord
  readonly #prefix: string
  readonly #style: AuditStyle
  readonly #sink: AuditSink

  /** Throws LogicalError (400) for options that cannot be. Opens nothing yet. */
  constructor(record: AuditRecord, headers: () => AuditStyle['headers'], standardOutput: WriteText) {
    const options = parseAuditOptions(record.options)
    this.record = record
    this.#prefix = options.prefix
    this.#style = {
      hider: createHider(record.salt, options),
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
          : new FileSink(options.filePath, options.mode)
  }

  async logRequest(entry: AuditEntry, timeMs: number): Promise<void> {
    await this.#append(describeRequest(entry, timeMs, this.#style))
  }

  async logResponse(entry: AuditResponseEntry, timeMs: number): Promise<void> {
    await this.#append(describeResponse(entry, timeMs, this.#style))
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

  #append(line: Record<string, unknown>): Promise<void> {
    return this.#sink.append(`${this.#prefix}${printJson(line)}\n`)
  }
}
