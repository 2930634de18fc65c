import type { Generator, Work } from './generator.js'

const CONNECTIONS = 64
const SECONDS_MAX = 600

/** Sends requests, so that a server has compiled its code and enlarged its heap. Requests before this cost much more. */
export const warmUp = async (generator: Generator, work: Work, requests: number): Promise<void> => {
  await generator.load({ ...work, answersMax: requests, warmupSeconds: 0 }, CONNECTIONS, SECONDS_MAX)
}
