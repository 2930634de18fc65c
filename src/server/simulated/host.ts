/**
 * A server process, as its simulated environment sees it. This type must not refer to the server, since public types of
 * the package refer to it.
 */
export interface Host {
  readonly name: string
  readonly isAlive: boolean
  /** Time for which the process remains suspended, in ms. */
  readonly frozenMs: number
}
