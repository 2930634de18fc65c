import net from 'node:net'
import { LabError } from './lab-error.js'

export interface PortPair {
  readonly api: number
  readonly cluster: number
}

const PORT_BASE = 8200
const PORTS_PER_CLUSTER = 10

/** Ports by convention: API = base + 10 x place of the cluster (A = 0), cluster port = API + 1. Fails when one is taken. */
export const fixedPorts = async (clusters: readonly string[], base = PORT_BASE): Promise<Map<string, PortPair>> => {
  const ports = new Map<string, PortPair>()
  for (const name of clusters) {
    const api = base + PORTS_PER_CLUSTER * (name.charCodeAt(0) - 'A'.charCodeAt(0))
    for (const port of [api, api + 1]) {
      if (!(await isFree(port)))
        throw new LabError(
          'conflict',
          `port ${port} is taken (cluster ${name} needs it); use --ports random or --port-base`,
        )
    }
    ports.set(name, { api, cluster: api + 1 })
  }
  return ports
}

/** Ports that were free a moment ago. All are held open until the last is known, so that no two are the same. */
export const randomPorts = async (clusters: readonly string[]): Promise<Map<string, PortPair>> => {
  const held: net.Server[] = []
  const take = async (): Promise<number> => {
    const server = await listen(0)
    held.push(server)
    return (server.address() as net.AddressInfo).port
  }
  try {
    const ports = new Map<string, PortPair>()
    for (const name of clusters) ports.set(name, { api: await take(), cluster: await take() })
    return ports
  } finally {
    await Promise.all(held.map((server) => new Promise((done) => server.close(done))))
  }
}

/** Whether a port of this machine could be bound a moment ago. */
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
