/**
 * One lifetime of a server, as seen by its environment. Kept minimal: the package's public types refer to it, and must not
 * refer to the server.
 */
export interface Host {
  readonly name: string
  readonly isAlive: boolean
  /** Remaining time in milliseconds for which the process is suspended. */
  readonly frozenMs: number
}
