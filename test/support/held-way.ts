import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import net from 'node:net'

interface Pair {
  readonly near: net.Socket
  readonly far: net.Socket
  /** Who has connected; undefined where nobody asks. */
  readonly from: string | undefined
}

interface Held {
  readonly asks: boolean
  readonly answers: boolean
}

type Find = (port: number, wayPort: number) => string | undefined

/**
 * A way to a port that can be held in either direction, for everybody or for one who has connected: what is sent meanwhile
 * arrives when it is let go.
 */
export class HeldWay {
  readonly port: number
  readonly #server: net.Server
  readonly #pairs = new Set<Pair>()
  /** Under undefined: what holds for everybody. */
  readonly #held = new Map<string | undefined, Held>()

  private constructor(server: net.Server) {
    this.#server = server
    this.port = (server.address() as net.AddressInfo).port
  }

  /** `find`: whose the connection from one port to another is. Where it is given, whoever is not found gets no way. */
  static async to(port: number, find?: Find): Promise<HeldWay> {
    const server = net.createServer({ pauseOnConnect: true })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const way = new HeldWay(server)
    server.on('connection', (near) => {
      const from = near.remotePort === undefined ? undefined : find?.(near.remotePort, way.port)
      if (find && from === undefined) near.destroy()
      else way.#join({ near, far: net.connect(port, '127.0.0.1'), from })
    })
    return way
  }

  hold(what: Held, from?: string): void {
    this.#held.set(from, what)
    for (const pair of this.#pairs) this.#apply(pair)
  }

  close(): void {
    this.#server.close()
    for (const { near, far } of this.#pairs) {
      near.destroy()
      far.destroy()
    }
  }

  #join(pair: Pair): void {
    const { near, far } = pair
    this.#pairs.add(pair)
    const end = () => {
      near.destroy()
      far.destroy()
      this.#pairs.delete(pair)
    }
    for (const socket of [near, far]) socket.setNoDelay(true).on('error', end).on('close', end)
    near.on('data', (bytes) => far.write(bytes))
    far.on('data', (bytes) => near.write(bytes))
    this.#apply(pair)
  }

  #apply({ near, far, from }: Pair): void {
    const held = [this.#held.get(undefined), from === undefined ? undefined : this.#held.get(from)]
    if (held.some((one) => one?.asks)) near.pause()
    else near.resume()
    if (held.some((one) => one?.answers)) far.pause()
    else far.resume()
  }
}

/** Ways to each of several processes, by which each can be cut off from each. */
export class CutWays {
  readonly #pids: () => ReadonlyMap<string, number>
  readonly #ways = new Map<string, HeldWay>()

  /** `pids`: of the processes by their names, those that run. */
  constructor(pids: () => ReadonlyMap<string, number>) {
    this.#pids = pids
  }

  /** Opens a way to a port of one of them. Resolves to the port of the way. */
  async open(name: string, port: number): Promise<number> {
    const way = await HeldWay.to(port, (from, to) => findOwner(this.#pids(), from, to))
    this.#ways.set(name, way)
    return way.port
  }

  /** Neither reaches the other until they are healed. */
  cut(one: string, other: string): void {
    this.#hold(one, other, true)
  }

  heal(one: string, other: string): void {
    this.#hold(one, other, false)
  }

  close(): void {
    for (const way of this.#ways.values()) way.close()
  }

  #hold(one: string, other: string, isHeld: boolean): void {
    this.#ways.get(one)?.hold({ asks: isHeld, answers: isHeld }, other)
    this.#ways.get(other)?.hold({ asks: isHeld, answers: isHeld }, one)
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
