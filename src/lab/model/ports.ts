import net from 'node:net'
import { createSystemRandom, type Random } from '../../base/random.js'
import { describeOwner, findPortOwner } from '../../base/process-owner.js'
import { LabError } from './lab-error.js'

export interface PortPair {
  readonly api: number
  readonly cluster: number
}

const PORT_BASE = 8200
const PORTS_PER_CLUSTER = 10

/** Returns the port offset of a cluster or a node. Each node has the two ports after those of the previous node. */
const offsetOf = (server: string): number => {
  const node = Number(server.slice(1) || '1')
  return PORTS_PER_CLUSTER * (server.charCodeAt(0) - 'A'.charCodeAt(0)) + 2 * (node - 1)
}

/** Returns the offset of the last port of these clusters from the first. */
export const lastPortOffset = (clusters: readonly string[]): number => Math.max(...clusters.map(offsetOf)) + 1

/**
 * Returns the ports of `chosen`, or else API port = base + 10 x cluster index (A = 0) + 2 x node index, cluster port =
 * API + 1. Rejects with LabError `conflict` if a port is in use.
 */
export const fixedPorts = async (
  clusters: readonly string[],
  base = PORT_BASE,
  chosen: (cluster: string) => PortPair | undefined = () => undefined,
): Promise<Map<string, PortPair>> => {
  const ports = new Map<string, PortPair>()
  for (const name of clusters) {
    const api = base + offsetOf(name)
    const pair = chosen(name) ?? { api, cluster: api + 1 }
    for (const port of [pair.api, pair.cluster]) {
      if (!(await isFree(port)))
        throw new LabError(
          'conflict',
          `port ${port}, which cluster ${name} requires, is in use${describeOwner(findPortOwner(port))}; use --ports random or --port-base`,
        )
    }
    ports.set(name, pair)
  }
  return ports
}

/** Excludes ephemeral ports, which an outgoing connection could occupy before the server listens. */
const RANDOM_RANGE = { first: 12_000, last: 32_000 }
const TRIES = 200
const PORT_MAX = 65_535

/**
 * Returns the range of random ports. Concurrent jobs on one machine need different ranges, because two jobs can choose
 * a port before a server listens on it. Throws LabError `usage` unless the text is a range `first-last` of at least two
 * ports.
 */
export const randomRange = (text = process.env.UNDERSTUDY_RANDOM_PORTS): typeof RANDOM_RANGE => {
  if (text === undefined || text === '') return RANDOM_RANGE
  const [first, last] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).slice(1).map(Number)
  if (first === undefined || last === undefined || first < 1 || last > PORT_MAX || first >= last)
    throw new LabError('usage', `UNDERSTUDY_RANDOM_PORTS: "${text}" is not a port range such as 20000-29999`)
  return { first, last }
}

/**
 * Returns ports that are currently free, each cluster port one above its API port. Keeps all of them open until the
 * last is chosen, so that they differ. `reserved`: ports to exclude although they are free.
 */
export const randomPorts = async (
  clusters: readonly string[],
  reserved: ReadonlySet<number> = new Set(),
  random: Random = createSystemRandom(),
): Promise<Map<string, PortPair>> => {
  const servers: net.Server[] = []
  try {
    const ports = new Map<string, PortPair>()
    for (const name of clusters) ports.set(name, await takePair(random, servers, reserved))
    return ports
  } finally {
    await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
  }
}

/** Returns the given number of free ports, excluding reserved ones. */
export const randomSinglePorts = async (
  count: number,
  reserved?: ReadonlySet<number>,
  random?: Random,
): Promise<readonly number[]> => {
  const pairs = Array.from({ length: Math.ceil(count / 2) }, (_, index) => String(index))
  const ports = await randomPorts(pairs, reserved, random)
  return [...ports.values()].flatMap(({ api, cluster }) => [api, cluster]).slice(0, count)
}

/**
 * Binds two consecutive free ports, and adds their listeners to `servers`. Rejects with LabError `conflict` if no pair
 * is free.
 */
const takePair = async (random: Random, servers: net.Server[], reserved: ReadonlySet<number>): Promise<PortPair> => {
  const { first, last } = randomRange()
  for (let tries = 0; tries < TRIES; tries++) {
    const api = first + 2 * (random.bytes(4).readUInt32BE() % Math.floor((last - first + 1) / 2))
    if (reserved.has(api) || reserved.has(api + 1)) continue
    const taken: net.Server[] = []
    try {
      for (const port of [api, api + 1]) taken.push(await listen(port))
      servers.push(...taken)
      return { api, cluster: api + 1 }
    } catch {
      await Promise.all(taken.map((server) => new Promise((done) => server.close(done))))
    }
  }
  const text = `no two consecutive ports from ${first} to ${last} are free`
  throw new LabError('conflict', `${text}; set UNDERSTUDY_RANDOM_PORTS to another range`)
}

/** Whether a local port can currently be bound. */
export const isFree = async (port: number): Promise<boolean> => {
  try {
    const server = await listen(port)
    await new Promise((done) => server.close(done))
    return true
  } catch {
    return false
  }
}

const listen = (port: number): Promise<net.Server> =>
  new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
