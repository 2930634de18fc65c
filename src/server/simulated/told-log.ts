import type { Log } from '../../base/log.js'
import type { History } from './history.js'
import type { Host } from './host.js'

/** Returns the log of one lifetime of a server, written into the history. */
export const toldLog = (history: History, host: Host): Log => {
  const tell = (level: string) => (message: string, fields?: Record<string, unknown>) => {
    if (host.isAlive) history.tell(host.name, () => `${level}: ${message}${shown(fields)}`)
  }
  const log: Log = {
    trace: () => undefined,
    debug: () => undefined,
    info: tell('info'),
    warn: tell('warn'),
    error: tell('error'),
    with: () => log,
  }
  return log
}

const shown = (fields: Record<string, unknown> = {}): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}=${value instanceof Error ? value.message : JSON.stringify(value)}`)
    .join('')
