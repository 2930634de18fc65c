import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Host } from './host.js'

/** All events of a simulation, in order. Their hash shows whether two runs were identical; the log is readable. */
export class History {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #hash = createHash('sha256')
  readonly #lines: string[] = []
  readonly #isTold: boolean
  events = 0

  /** Without `isTold` only the hash is kept. */
  constructor(clock: Pick<Clock, 'monotonic'>, isTold: boolean) {
    this.#clock = clock
    this.#isTold = isTold
  }

  /** Adds an event. `bytes` count for the hash but do not appear in the log. */
  add(who: string, what: string, bytes?: Buffer): void {
    this.events++
    this.#hash.update(`${this.#clock.monotonic()} ${who} ${what}\n`)
    if (bytes) this.#hash.update(bytes)
    this.tell(who, () => what)
  }

  /** Adds a line to the log that follows from earlier events and does not affect the hash. */
  tell(who: string, what: () => string): void {
    if (this.#isTold)
      this.#lines.push(`${(this.#clock.monotonic() / 1000).toFixed(6).padStart(12)} ${who.padEnd(4)} ${what()}`)
  }

  get story(): readonly string[] {
    return this.#lines
  }

  /** The hash of all events so far. */
  get hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16)
  }
}

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
