/** A log line is an event: a constant message and fields. It never contains a secret. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'

export interface Log {
  trace(message: string, fields?: Record<string, unknown>): void
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
  /** Returns a log whose lines all include `fields`. */
  with(fields: Record<string, unknown>): Log
}

export const silentLog: Log = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
}

/** Formats the fields of a line as text: time, level, message, and the others as `name=value`. */
export const formatLine = ({ time, level, message, ...fields }: Readonly<Record<string, unknown>>): string => {
  const rest = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return `${time} [${String(level).toUpperCase()}] ${[message, ...rest].join(' ')}`
}
