/** The level of a log line. A log line is an event with a constant message and fields. It never contains a secret. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error'

/** The named loggers of a server. Lines without the field `logger` belong to `core`. */
export const LOGGERS = ['audit', 'core', 'expiration', 'replication'] as const
export type LoggerName = (typeof LOGGERS)[number]

const RANK: Record<LogLevel, number> = { trace: 0, debug: 1, info: 2, warn: 3, error: 4 }

/** Log levels by their names in configuration files and in the API. */
export const LOG_LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ...(Object.keys(RANK) as LogLevel[]).map((level) => [level, level] as const),
  ['warning', 'warn'],
  ['err', 'error'],
])

/** A reader of log lines at its own level. */
interface LogFollower {
  readonly level: LogLevel
  /** Receives one line as JSON with a final line break. Secret values are already hidden. */
  write(line: string): void
}

/** The levels of the loggers of one process, and the readers of its lines. */
export class LogControl {
  #configured: LogLevel
  readonly #changed = new Map<LoggerName, LogLevel>()
  readonly #followers = new Set<LogFollower>()

  constructor(configured: LogLevel) {
    this.#configured = configured
  }

  levelOf(name: LoggerName): LogLevel {
    return this.#changed.get(name) ?? this.#configured
  }

  /** Sets the configured level, to which all loggers return. */
  configure(level: LogLevel): void {
    this.#configured = level
    this.#changed.clear()
  }

  /** Sets the level of loggers. Without a level, they return to the configured level. */
  setLevel(level: LogLevel | undefined, names: readonly LoggerName[] = LOGGERS): void {
    for (const name of names) {
      if (level === undefined) this.#changed.delete(name)
      else this.#changed.set(name, level)
    }
  }

  /** Passes all further lines to a reader. Returns the function that ends this. */
  follow(follower: LogFollower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  /** Returns whether the log or a reader takes a line of this logger and level. */
  isWanted(name: LoggerName, level: LogLevel): boolean {
    return this.isLogged(name, level) || [...this.#followers].some((follower) => isAtLeast(level, follower.level))
  }

  isLogged(name: LoggerName, level: LogLevel): boolean {
    return isAtLeast(level, this.levelOf(name))
  }

  pass(level: LogLevel, line: string): void {
    for (const follower of this.#followers) if (isAtLeast(level, follower.level)) follower.write(line)
  }
}

const isAtLeast = (level: LogLevel, minimum: LogLevel): boolean => RANK[level] >= RANK[minimum]
