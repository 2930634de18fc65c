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
