import { attempt } from '../../base/attempt.js'
import { messageOf } from '../../base/printable.js'
import { parseHostPort } from '../../base/network.js'
import { type Direction, DIRECTIONS } from '../proxy/direction.js'
import { Link, type LinkOptions } from '../proxy/link.js'
import type { LinkFault } from '../proxy/link-faults.js'
import { type ActiveFault, type ActiveLinkFault, downsOf, isOfLink, isShown, affectsDirection } from './active-fault.js'
import type { LabDaemon } from './lab-daemon.js'
import type { NamedProxy } from './open-routes.js'
import { badRequest, linkMetrics, parseToxic, toLinkFault, toToxic, type Toxic, ToxiproxyError } from './toxics.js'

/** A proxy in the format of Toxiproxy 2. */
interface ShownProxy {
  readonly name: string
  readonly listen: string
  readonly upstream: string
  readonly enabled: boolean
  readonly toxics: readonly Toxic[]
}

type Given = Readonly<Record<string, unknown>>

type LinkParts = Pick<LinkOptions, 'clock' | 'random' | 'host'>

/** Maximum number of proxies that clients add. */
const EXTRA_PROXIES_MAX = 64

/**
 * The proxies of a lab as Toxiproxy clients see them. Toxics are faults of the lab daemon, so `fault ls` lists them and
 * `heal` removes them. A fault of a whole link appears as a toxic of each of its proxies.
 */
export class Proxies {
  readonly #daemon: LabDaemon
  readonly #parts: LinkParts

  constructor(daemon: LabDaemon, parts: LinkParts) {
    this.#daemon = daemon
    this.#parts = parts
  }

  list(): readonly ShownProxy[] {
    return this.#daemon.proxies.map((proxy) => this.#show(proxy))
  }

  metrics(): string {
    return linkMetrics(this.#daemon.proxies, this.#daemon.active)
  }

  show(name: string): ShownProxy {
    return this.#show(this.#require(name))
  }

  async create(given: Given): Promise<ShownProxy> {
    const name = requireText(given, 'name')
    if (!/^[^/\p{Cc}]{1,256}$/u.test(name))
      throw badRequest('a name has 1 to 256 characters, without slashes and control characters')
    const upstream = requireText(given, 'upstream')
    const target = targetOf(upstream)
    const listen = typeof given.listen === 'string' ? given.listen : ''
    if (this.#find(name)) throw new ToxiproxyError(409, 'proxy already exists')
    if (this.#daemon.proxies.filter(({ isExtra }) => isExtra).length >= EXTRA_PROXIES_MAX)
      throw new ToxiproxyError(409, `clients have added the maximum of ${EXTRA_PROXIES_MAX} proxies`)
    const link = await this.#open(portOf(listen), target)
    this.#daemon.addProxy(name, upstream, link)
    if (given.enabled === false) await this.#setEnabled(this.#require(name), false)
    return this.show(name)
  }

  /**
   * Updates a proxy. The addresses of the lab's own proxies cannot be changed. Rejects with `ToxiproxyError` for such a
   * change.
   */
  async update(name: string, given: Given): Promise<ShownProxy> {
    const proxy = this.#require(name)
    const shown = this.#show(proxy)
    const listen = typeof given.listen === 'string' && given.listen !== '' ? given.listen : shown.listen
    const upstream = typeof given.upstream === 'string' && given.upstream !== '' ? given.upstream : shown.upstream
    targetOf(upstream)
    const isMoved = upstream !== shown.upstream || ![0, proxy.port].includes(portOf(listen))
    if (isMoved && !proxy.isExtra)
      throw new ToxiproxyError(400, `the proxy ${name} belongs to the lab: its addresses cannot be changed`)
    if (isMoved) {
      await this.delete(name)
      return this.create({ name, listen, upstream, enabled: given.enabled ?? shown.enabled })
    }
    if (typeof given.enabled === 'boolean') await this.#setEnabled(proxy, given.enabled)
    return this.show(name)
  }

  async delete(name: string): Promise<void> {
    if (!this.#require(name).isExtra)
      throw new ToxiproxyError(400, `the proxy ${name} belongs to the lab: it cannot be deleted`)
    await this.#daemon.removeProxy(name)
  }

  /** Creates or updates proxies in order. Rejects at the first failure, and keeps the proxies before it. */
  async populate(all: readonly Given[]): Promise<readonly ShownProxy[]> {
    const populated: ShownProxy[] = []
    for (const given of all) {
      const name = requireText(given, 'name')
      const known = this.#find(name)
      populated.push(await (known ? this.update(name, { enabled: true, ...given }) : this.create(given)))
    }
    return populated
  }

  /** Enables all proxies and removes all toxics, as Toxiproxy does. Other faults stay. */
  async reset(): Promise<void> {
    await this.#daemon.heal(this.#daemon.active.filter(isToxic).map(({ id }) => id))
  }

  toxic(proxy: string, name: string): Toxic {
    const found = this.show(proxy).toxics.find((toxic) => toxic.name === name)
    if (!found) throw new ToxiproxyError(404, 'toxic not found')
    return found
  }

  async addToxic(proxyName: string, given: Given): Promise<Toxic> {
    const proxy = this.#require(proxyName)
    const toxic = parseToxic(given)
    if (this.show(proxyName).toxics.some(({ name }) => name === toxic.name))
      throw new ToxiproxyError(409, 'toxic already exists')
    await this.#set(proxy, toxic)
    return this.toxic(proxyName, toxic.name)
  }

  async updateToxic(proxyName: string, name: string, given: Given): Promise<Toxic> {
    const proxy = this.#require(proxyName)
    const changed = parseToxic(given, this.toxic(proxyName, name))
    const before = this.#faultsCalled(proxy, name)
    await this.#set(proxy, changed)
    await this.#daemon.heal(before.map(({ id }) => id))
    return changed
  }

  async removeToxic(proxyName: string, name: string): Promise<void> {
    this.toxic(proxyName, name)
    await this.#daemon.heal(this.#faultsCalled(this.#require(proxyName), name).map(({ id }) => id))
  }

  #find(name: string): NamedProxy | undefined {
    return this.#daemon.proxies.find((proxy) => proxy.name === name)
  }

  #require(name: string): NamedProxy {
    const found = this.#find(name)
    if (!found) throw new ToxiproxyError(404, 'proxy not found')
    return found
  }

  #show(proxy: NamedProxy): ShownProxy {
    return {
      name: proxy.name,
      listen: `127.0.0.1:${proxy.port}`,
      upstream: proxy.address,
      enabled: downsOf(this.#daemon.active, proxy).length === 0,
      toxics: this.#affecting(proxy).map(({ toxic }) => toxic),
    }
  }

  #affecting(proxy: NamedProxy): { readonly active: ActiveLinkFault; readonly toxic: Toxic }[] {
    return this.#daemon.active
      .filter(isShown)
      .filter(isOfLink)
      .flatMap((active) =>
        DIRECTIONS.filter((direction) => affectsDirection(active, proxy, direction)).flatMap((direction) => {
          const toxic = toToxic(active, direction)
          return toxic ? [{ active, toxic }] : []
        }),
      )
  }

  #faultsCalled(proxy: NamedProxy, name: string): ActiveLinkFault[] {
    return this.#affecting(proxy)
      .filter(({ toxic }) => toxic.name === name)
      .map(({ active }) => active)
  }

  #set(proxy: NamedProxy, toxic: Toxic): Promise<void> {
    return this.#setFault(proxy, toxic.stream === 'upstream' ? 'up' : 'down', toxic, toLinkFault(toxic))
  }

  async #setEnabled(proxy: NamedProxy, isEnabled: boolean): Promise<void> {
    const downs = downsOf(this.#daemon.active, proxy)
    if (isEnabled && downs.length > 0) await this.#daemon.heal(downs.map(({ id }) => id))
    if (isEnabled || downs.length > 0) return
    await this.#setFault(proxy, 'up', { name: 'down', toxicity: 1 }, { name: 'down' })
  }

  async #setFault(
    { name: proxy, from, to }: NamedProxy,
    direction: Direction,
    { name: toxic, toxicity }: Pick<Toxic, 'name' | 'toxicity'>,
    fault: LinkFault,
  ): Promise<void> {
    await this.#daemon.set({ between: [from, to], isOneWay: true, fault, at: { proxy, direction, toxic, toxicity } })
  }

  async #open(port: number, target: { host: string; port: number }): Promise<Link> {
    try {
      return await Link.open({ port, target, ...this.#parts })
    } catch (error) {
      throw new ToxiproxyError(400, messageOf(error))
    }
  }
}

/** Whether Toxiproxy has an equivalent of the fault. It has none for partitions, held links and server faults. */
const isToxic = (active: ActiveFault): boolean =>
  isOfLink(active) && (active.fault.name === 'down' || toToxic(active, 'up') !== undefined)

const requireText = (given: Given, name: string): string => {
  const value = given[name]
  if (typeof value !== 'string' || value === '') throw new ToxiproxyError(400, `missing required field: ${name}`)
  return value
}

const targetOf = (upstream: string): { host: string; port: number } => {
  const [, host] = /^(\[[^\]]+\]|[^:\s]+):([1-9]\d*)$/.exec(upstream) ?? []
  const target = host === undefined ? undefined : attempt(() => parseHostPort(upstream))
  if (!target) throw badRequest(`upstream must be a host and a port, not ${upstream}`)
  return target
}

const LOCAL_HOSTS: readonly string[] = ['', 'localhost', '127.0.0.1', '0.0.0.0', '[::]', '[::1]', '::']

/**
 * Returns the port of a `listen` address. 0: any free port. Rejects other hosts, because proxies listen on 127.0.0.1
 * only.
 */
const portOf = (listen: string): number => {
  if (listen === '') return 0
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(listen) ?? []
  if (port === '' || Number(port) > 65_535 || !LOCAL_HOSTS.includes(host))
    throw badRequest(`listen must be 127.0.0.1 and a port, not ${listen}`)
  return Number(port)
}
