import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Host } from './host.js'

/** Records all events of a simulation in order. Equal hashes show that two runs were identical. */
export class History {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #hash = createHash('sha256')
  readonly #lines: string[] = []
  readonly #isTraced: boolean
  events = 0

  /** If `isTraced` is false, keeps only the hash and no log. */
  constructor(clock: Pick<Clock, 'monotonic'>, isTraced: boolean) {
    this.#clock = clock
    this.#isTraced = isTraced
  }

  /** Adds an event to the hash and the log. `bytes` are added to the hash only. */
  add(who: string, what: string, bytes?: Buffer): void {
    this.events++
    this.#hash.update(`${this.#clock.monotonic()} ${who} ${what}\n`)
    if (bytes) this.#hash.update(bytes)
    this.tell(who, () => what)
  }

  /** Adds a line to the log but not to the hash, since the line follows from earlier events. */
  tell(who: string, what: () => string): void {
    if (this.#isTraced)
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

/** Returns the log of a server process, which writes to the history. */
export const tracedLog = (history: History, host: Host): Log => {
  const tell = (level: string) => (message: string, fields?: Record<string, unknown>) => {
    if (host.isAlive) history.tell(host.name, () => `${level}: ${message}${textOfFields(fields)}`)
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

const textOfFields = (fields: Record<string, unknown> = {}): string =>
  Object.entries(fields)
    .map(([name, value]) => ` ${name}=${value instanceof Error ? value.message : JSON.stringify(value)}`)
    .join('')
