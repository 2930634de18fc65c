import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import type { PortPair } from '../model/ports.js'
import { Link } from '../proxy/link.js'

/**
 * A load balancer in front of a cluster. It has its ports before the cluster has any, because the cluster tells others these
 * instead of its own. Whoever opens it closes it.
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

  /** Each new connection is led to the ports that are told for it, as those of the active one of several servers. */
  leadTo(choose: () => PortPair): void {
    this.#api.choose = () => choose().api
    this.#cluster.choose = () => choose().cluster
  }

  async close(): Promise<void> {
    await Promise.all([this.#api.link.close(), this.#cluster.link.close()])
  }
}

/** One port, and where it leads. */
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
