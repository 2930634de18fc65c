import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { PortPair } from '../model/ports.js'
import { Link } from '../proxy/link.js'

/**
 * A load balancer in front of a cluster. Its ports are reserved before those of the cluster, because the cluster advertises them.
 * The caller must close it.
 */
export class Balancer {
  readonly ports: PortPair
  readonly #api: Door
  readonly #cluster: Door

  private constructor(api: Door, cluster: Door) {
    this.ports = { api: api.link.port, cluster: cluster.link.port }
    this.#api = api
    this.#cluster = cluster
  }

  static async open(clock: Clock, random: Random): Promise<Balancer> {
    const api = await openDoor(clock, random)
    try {
      return new Balancer(api, await openDoor(clock, random))
    } catch (error) {
      await api.link.close()
      throw error
    }
  }

  /** Calls `choose` for each new connection and connects it to these ports, such as those of the active node. */
  leadTo(choose: () => PortPair): void {
    this.#api.choose = () => choose().api
    this.#cluster.choose = () => choose().cluster
  }

  async close(): Promise<void> {
    await Promise.all([this.#api.link.close(), this.#cluster.link.close()])
  }
}

/** One listening port and its target. */
interface Door {
  readonly link: Link
  choose: () => number
}

const openDoor = async (clock: Clock, random: Random): Promise<Door> => {
  const target = {
    host: '127.0.0.1',
    get port() {
      return door.choose()
    },
  }
  const door: Door = { link: await Link.open({ target, clock, random }), choose: () => 0 }
  return door
}
