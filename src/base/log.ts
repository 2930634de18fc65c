import type { LogControl, LogLevel } from './log-control.js'

export interface Log {
  trace(message: string, fields?: Record<string, unknown>): void
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
  /** Returns a log that adds `fields` to all lines. The field `logger` names the logger of the lines. */
  with(fields: Record<string, unknown>): Log
  /** The levels and the readers of this log; absent if the log writes nothing. */
  readonly control?: LogControl | undefined
}

export const silentLog: Log = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
}

/** Returns a log that writes nothing after the signal is aborted, like the log of a killed process. */
export const untilAborted = (log: Log, signal: AbortSignal): Log => {
  const lineOf =
    (level: LogLevel): Log[LogLevel] =>
    (message, fields) => {
      if (!signal.aborted) log[level](message, fields)
    }
  return {
    trace: lineOf('trace'),
    debug: lineOf('debug'),
    info: lineOf('info'),
    warn: lineOf('warn'),
    error: lineOf('error'),
    with: (fields) => untilAborted(log.with(fields), signal),
    control: log.control,
  }
}

/** Formats a log line as text: time, level, message, and all other fields as `name=value`. */
export const formatLine = ({ time, level, message, ...fields }: Readonly<Record<string, unknown>>): string => {
  const rest = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return `${time} [${String(level).toUpperCase()}] ${[message, ...rest].join(' ')}`
}
