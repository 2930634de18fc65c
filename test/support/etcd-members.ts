import { randomSinglePorts } from '../../src/lab/model/ports.js'
import { EtcdProcess } from './etcd.js'
import { CutWays } from './held-way.js'

const NAMES = ['one', 'two', 'three']

/** An etcd of three members, each a process, which reach one another by ways that can be cut. */
export class EtcdMembers {
  readonly names: readonly string[]
  readonly ways: CutWays
  readonly #members: ReadonlyMap<string, EtcdProcess>

  private constructor(ways: CutWays, members: ReadonlyMap<string, EtcdProcess>) {
    this.ways = ways
    this.#members = members
    this.names = [...members.keys()]
  }

  static async start(): Promise<EtcdMembers> {
    const members = new Map<string, EtcdProcess>()
    const ways = new CutWays(() => pidsOf(members))
    const peers: { name: string; listen: string; advertised: string }[] = []
    const ports = await randomSinglePorts(NAMES.length)
    for (const [index, name] of NAMES.entries()) {
      const port = ports[index] ?? 0
      peers.push({
        name,
        listen: `http://127.0.0.1:${port}`,
        advertised: `http://127.0.0.1:${await ways.open(name, port)}`,
      })
    }
    const all = peers.map(({ name, advertised }) => `${name}=${advertised}`).join(',')
    for (const { name, listen, advertised } of peers) {
      const flags = ['--name', name, '--listen-peer-urls', listen, '--initial-advertise-peer-urls', advertised]
      members.set(name, await EtcdProcess.prepare(...flags, '--initial-cluster', all))
    }
    await Promise.all([...members.values()].map((member) => member.run()))
    return new EtcdMembers(ways, members)
  }

  /** Of all members, beginning with one of them. */
  addressesFrom(first: number): readonly string[] {
    const all = [...this.#members.values()].map(({ address }) => address)
    return [...all.slice(first), ...all.slice(0, first)]
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => member.destroy()))
    this.ways.close()
  }
}

const pidsOf = (members: ReadonlyMap<string, EtcdProcess>): ReadonlyMap<string, number> =>
  new Map([...members].flatMap(([name, { pid }]) => (pid === undefined ? [] : [[name, pid] as const])))
