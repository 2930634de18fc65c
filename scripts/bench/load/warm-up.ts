import type { Generator, Work } from './generator.js'

const CONNECTIONS = 64
const SECONDS_MAX = 600

/** Sends requests until the code of a server is compiled and its heap has its size. Earlier requests cost much more. */
export const warmUp = async (generator: Generator, work: Work, requests: number): Promise<void> => {
  await generator.load({ ...work, answersMax: requests, warmupSeconds: 0 }, CONNECTIONS, SECONDS_MAX)
}
