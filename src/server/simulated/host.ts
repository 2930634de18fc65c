/**
 * One life of a server, as what surrounds it knows it: no more than that, since the types of the package lead here and are to
 * lead to no server.
 */
export interface Host {
  readonly name: string
  readonly isAlive: boolean
  /** How long nothing of it goes on yet, in milliseconds. */
  readonly frozenMs: number
}
