import { appendFileSync } from 'node:fs'
import pino from 'pino'
import { formatLine, type Log } from './log.js'
import { LOGGERS, LogControl, type LoggerName, type LogLevel } from './log-control.js'

/** A destination for log lines. It may drop lines, but never blocks and does not keep the process alive. */
interface LogSink {
  write(line: string): void
  readonly dropped: number
}

/** Maximum unread bytes in a pipe before lines are dropped and counted. */
const BACKLOG_BYTES_MAX = 1 << 20

/**
 * Returns standard output or standard error as a sink. If the stream is a pipe without a reader, drops lines and counts
 * them, because waiting would block the server and buffering would exhaust its memory.
 */
export const streamSink = (stream: NodeJS.WriteStream): LogSink => {
  let dropped = 0
  stream.on('error', () => undefined)
  return {
    get dropped() {
      return dropped
    },
    write(line) {
      if (stream.writableLength > BACKLOG_BYTES_MAX) {
        dropped++
        return
      }
      if (dropped > 0) {
        stream.write(`${JSON.stringify({ level: 'warn', message: 'log lines were dropped', dropped })}\n`)
        dropped = 0
      }
      stream.write(line)
    },
  }
}

export const fileSink = (path: string): LogSink => ({
  dropped: 0,
  write: (line) => appendFileSync(path, line, { mode: 0o600 }),
})

export interface PinoLog extends Log {
  readonly control: LogControl
}

/**
 * Creates a structured log with pino. The format `json` writes JSON, and `standard` writes time, level, message and
 * fields as text.
 */
export const createPinoLog = (options: { level: LogLevel; format: 'json' | 'standard'; sink: LogSink }): PinoLog => {
  const { sink, format } = options
  const control = new LogControl(options.level)
  /** The line that pino is writing. Pino calls `write` before a logging function returns. */
  let writing: { readonly level: LogLevel; readonly isLogged: boolean } | undefined
  const destination = {
    write(line: string) {
      if (!writing) return
      if (writing.isLogged) sink.write(format === 'json' ? line : toStandard(line))
      control.pass(writing.level, line)
    },
  }
  const root = pino(
    {
      level: 'trace',
      messageKey: 'message',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  const wrap = (logger: pino.Logger, name: LoggerName): PinoLog => {
    const line =
      (level: LogLevel) =>
      (message: string, fields: Record<string, unknown> = {}) => {
        if (!control.isWanted(name, level)) return
        writing = { level, isLogged: control.isLogged(name, level) }
        logger[level](redact(fields), message)
      }
    return {
      trace: line('trace'),
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      with: (fields) => wrap(logger.child(redact(fields)), LOGGERS.find((known) => known === fields.logger) ?? name),
      control,
    }
  }
  return wrap(root, 'core')
}

/** Formats a line of JSON as text. */
export const toStandard = (line: string): string => `${formatLine(JSON.parse(line) as Record<string, unknown>)}\n`

/** The field names whose values never appear in a log line, in lower case and without dashes and underscores. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'authorization',
  'clientkey',
  'clientkeypem',
  'clienttoken',
  'droperationtoken',
  'encodedtoken',
  'jwt',
  'key',
  'keys',
  'keysbase64',
  'otp',
  'password',
  'privatekey',
  'rootkey',
  'roottoken',
  'secret',
  'secretid',
  'token',
  'tokens',
  'unsealkeys',
  'wrappingtoken',
  'xvaulttoken',
])

const HIDDEN = '[hidden]'
/** Maximum depth of log fields. Deeper values are omitted, because such objects are only logged by mistake. */
const DEPTH_MAX = 16
const TOO_DEEP = '[too deep]'

/**
 * Returns a copy of log fields without secret values, at any depth: in objects, lists, maps, and errors with their
 * causes. Bytes are replaced with their number. Cycles end at the maximum depth.
 */
const redact = (fields: Record<string, unknown>): Record<string, unknown> => redactMembers(Object.entries(fields), 0)

const redactMembers = (members: Iterable<readonly [unknown, unknown]>, depth: number): Record<string, unknown> =>
  Object.fromEntries(
    Array.from(members, ([name, value]) => [name, isSecret(String(name)) ? HIDDEN : redactValue(value, depth + 1)]),
  )

const isSecret = (name: string): boolean => SECRET_NAMES.has(name.toLowerCase().replace(/[-_]/g, ''))

const redactValue = (value: unknown, depth: number): unknown => {
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) return TOO_DEEP
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Error) return redactError(value, depth)
  if (value instanceof Date) return value
  if (value instanceof Map) return redactMembers(value, depth)
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, (item) => redactValue(item, depth + 1))
  return redactMembers(Object.entries(value), depth)
}

const redactError = (error: Error, depth: number): Record<string, unknown> => ({
  type: error.name,
  message: error.message,
  stack: error.stack,
  ...redactMembers(Object.entries(error), depth),
  ...(error.cause !== undefined && { cause: redactValue(error.cause, depth + 1) }),
})
