import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import net from 'node:net'
import { systemClock } from '../../src/base/clock.js'
import { createSystemRandom } from '../../src/base/random.js'
import { Link } from '../../src/lab/proxy/link.js'

/** Opens a link in front of a port of this machine. */
export const openLink = (port: number): Promise<Link> =>
  Link.open({ target: { host: '127.0.0.1', port }, clock: systemClock, random: createSystemRandom() })

/** Links to each of several processes, by which each can be cut off from each. */
export class CutWays {
  readonly #pids: () => ReadonlyMap<string, number>
  readonly #ports = new Map<string, number>()
  readonly #fronts: net.Server[] = []
  /** By who dials whom. */
  readonly #links = new Map<string, Promise<Link>>()

  /** `pids`: of the processes by their names, those that run. */
  constructor(pids: () => ReadonlyMap<string, number>) {
    this.#pids = pids
  }

  /** Opens a way to a port of one of them, for the others alone. Resolves to the port of the way. */
  async open(name: string, port: number): Promise<number> {
    this.#ports.set(name, port)
    const front = net.createServer({ pauseOnConnect: true })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    const { port: own } = front.address() as net.AddressInfo
    front.on('connection', (near) => void this.#join(near, name, own))
    this.#fronts.push(front)
    return own
  }

  /** Neither reaches the other until they are healed. What they send meanwhile arrives then. */
  async cut(one: string, other: string): Promise<void> {
    for (const link of await this.#between(one, other)) link.hold()
  }

  async heal(one: string, other: string): Promise<void> {
    for (const link of await this.#between(one, other)) link.release()
  }

  async close(): Promise<void> {
    for (const front of this.#fronts) front.close()
    for (const link of this.#links.values()) await (await link).close()
  }

  #between(one: string, other: string): Promise<Link[]> {
    return Promise.all([this.#link(one, other), this.#link(other, one)])
  }

  #link(from: string, to: string): Promise<Link> {
    const link = this.#links.get(`${from}>${to}`) ?? openLink(this.#ports.get(to) ?? 0)
    this.#links.set(`${from}>${to}`, link)
    return link
  }

  async #join(near: net.Socket, name: string, port: number): Promise<void> {
    const from = findOwner(this.#pids(), near.remotePort ?? 0, port)
    if (from === undefined) return void near.destroy()
    const far = net.connect((await this.#link(from, name)).port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const)
      socket
        .setNoDelay(true)
        .on('error', () => other.destroy())
        .on('close', () => other.destroy())
    near.pipe(far).pipe(near)
  }
}

/** Each two of several. */
export const pairsOf = <T>(all: readonly T[]): readonly (readonly [T, T])[] =>
  all.flatMap((one, index) => all.slice(index + 1).map((other) => [one, other] as const))

/** Which of some processes has a connection from one port to another, as the system knows it. */
const findOwner = (pids: ReadonlyMap<string, number>, from: number, to: number): string | undefined => {
  const [local, remote] = [from, to].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`)
  const rows = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n'))
  const row = rows
    .map((line) => line.trim().split(/\s+/))
    .find(([, a, b]) => a?.endsWith(`${local}`) && b?.endsWith(`${remote}`))
  const socket = `socket:[${row?.[9]}]`
  for (const [name, pid] of pids) if (filesOf(pid).includes(socket)) return name
  return undefined
}

const filesOf = (pid: number): readonly string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((file) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${file}`)
      } catch {
        return ''
      }
    })
  } catch {
    return []
  }
}
