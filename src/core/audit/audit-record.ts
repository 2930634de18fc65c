/** Audit devices as stored: one record each. */
import { invalid, type LogicalError } from '../../logical/errors.js'
import { parseBool } from '../../logical/field-values.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { LIMITS } from '../../base/limits.js'

export interface AuditRecord {
  /** The path of the device, with a trailing slash. */
  readonly path: string
  readonly type: 'file'
  readonly description: string
  readonly isLocal: boolean
  /** The options as the client sent them. */
  readonly options: Readonly<Record<string, string>>
  /** The key of this device's hashes. */
  readonly salt: string
}

export interface AuditOptions {
  /** A path, `stdout` or `discard`. */
  readonly filePath: string
  /** The mode of the file. Undefined leaves the mode of an existing file unchanged. */
  readonly mode: number | undefined
  readonly isRaw: boolean
  readonly hashesAccessors: boolean
  readonly elidesLists: boolean
  readonly prefix: string
  /** If true, a test line is written before the device is enabled. */
  readonly isTested: boolean
}

export const RECORD_PREFIXES = [KEYS.audit, KEYS.localAudit] as const

export const recordKey = ({ path, isLocal }: Pick<AuditRecord, 'path' | 'isLocal'>): string =>
  (isLocal ? KEYS.localAudit : KEYS.audit) + path.slice(0, -1)

/** Parses the options of a device. Throws LogicalError 400 for an invalid option. */
export const parseAuditOptions = (options: Readonly<Record<string, string>>): AuditOptions => {
  const filePath = options.file_path ?? options.path ?? ''
  if (filePath === '') throw invalid('file_path is required')
  const format = options.format ?? 'json'
  if (format !== 'json') throw invalid(`unknown format type: ${JSON.stringify(format)}`)
  return {
    filePath,
    mode: parseMode(options.mode ?? '0600'),
    isRaw: parseSwitch(options, 'log_raw', false),
    hashesAccessors: parseSwitch(options, 'hmac_accessor', true),
    elidesLists: parseSwitch(options, 'elide_list_responses', false),
    prefix: options.prefix ?? '',
    isTested: !parseSwitch(options, 'skip_test', false),
  }
}

const parseSwitch = (options: Readonly<Record<string, string>>, name: string, otherwise: boolean): boolean => {
  const text = options[name]
  if (text === undefined) return otherwise
  const value = text === '' ? undefined : parseBool(text)
  if (value === undefined) throw unusable(name, text)
  return value
}

/**
 * Parses a file mode in octal digits. Returns undefined for zero, which leaves the mode of an existing file unchanged.
 * Throws LogicalError 400 for an invalid mode.
 */
const parseMode = (text: string): number | undefined => {
  if (!/^[0-7]{1,5}$/.test(text)) throw unusable('mode', text)
  const mode = Number.parseInt(text, 8)
  return mode === 0 ? undefined : mode
}

const unusable = (name: string, text: string): LogicalError =>
  invalid(`unable to parse the option ${JSON.stringify(name)}: ${JSON.stringify(text)}`)

interface AuditLine {
  /** Path of the device. */
  readonly path: string
  /** Without the device's prefix. Very long lines are truncated. */
  readonly text: string
}

/**
 * The most recent lines that this cluster's devices have written since the unseal. Each device adds its lines here.
 * Lines are never read from the files, because a client can enable a device with the path of any file.
 */
export class AuditTail {
  #lines: AuditLine[] = []

  add(path: string, line: string): void {
    this.#lines.push({ path, text: shorten(line) })
    // Trims only at twice the limit, so that most additions copy nothing.
    if (this.#lines.length >= 2 * LIMITS.auditTailLines) this.#lines = this.list()
  }

  /** Returns the lines, oldest first. */
  list(): AuditLine[] {
    return this.#lines.slice(-LIMITS.auditTailLines)
  }
}

/** Copies the text: a substring would keep the whole line in memory. */
const shorten = (line: string): string =>
  line.length <= LIMITS.auditTailCharactersMax
    ? line
    : `${Buffer.from(line.slice(0, LIMITS.auditTailCharactersMax)).toString('utf8')} …`
