/** The maximum timeout, as a multiple of the first timeout. */
const GROWTH_MAX = 4

/**
 * Returns the timeout, in milliseconds, of a request to which no member of etcd has responded in time. It doubles each
 * time that all members were asked. `rounds`: how often that was.
 *
 * etcd executes a request even if its client no longer waits. With a constant timeout, a member that needs longer would
 * execute the request again and again, which slows it down further, and the client would never receive a response.
 */
export const growTimeout = (firstMs: number, rounds: number): number =>
  firstMs * Math.min(2 ** Math.floor(rounds), GROWTH_MAX)
