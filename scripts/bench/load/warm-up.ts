import type { Generator, Work } from './generator.js'

const CONNECTIONS = 64
const SECONDS_MAX = 600

/** Asks until a server's code is compiled and its heap has found its size: before that a request costs several times more. */
export const warmUp = async (generator: Generator, work: Work, requests: number): Promise<void> => {
  await generator.load({ ...work, answersMax: requests, warmupSeconds: 0 }, CONNECTIONS, SECONDS_MAX)
}
