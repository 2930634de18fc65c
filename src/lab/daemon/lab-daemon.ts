import type { Clock, Timer } from '../../base/clock.js'
import type { EventDraft } from '../events/event.js'
import { LabError } from '../model/lab-error.js'
import { DIRECTIONS } from '../proxy/direction.js'
import type { Link } from '../proxy/link.js'
import {
  type ActiveFault,
  type ActiveLinkFault,
  type ActiveServerFault,
  type FaultRequest,
  downsOf,
  isOfLink,
  isShown,
  type LinkFaultRequest,
  directionState,
  isBetween,
} from './active-fault.js'
import { type NamedProxy, nameProxies, type OpenRoute } from './open-routes.js'
import { isOneShot, isSameSetting, settingOf, ServerFaults } from './server-fault.js'
import type { WatchedCluster } from './watch.js'

interface Surroundings {
  readonly clock: Clock
  /** The clusters whose servers can have faults. */
  readonly clusters: () => readonly WatchedCluster[]
  /** Called for each fault that is set, healed or expired. */
  readonly emit: (event: EventDraft) => void
  /** Whether the lab had an earlier daemon, whose faults may still be set on servers. */
  readonly isSuccessor?: boolean
}

type EndKind = 'fault-healed' | 'fault-expired'

const FAULTS_MAX = 1000

/** Retry interval for the removal of an expired fault whose server did not respond, in milliseconds. */
const HEAL_AGAIN_MS = 1000

/**
 * Owns the active faults of a lab, the timers that remove them, and the link proxies, which the caller has opened. The
 * caller must close the daemon, which closes the proxies.
 */
export class LabDaemon {
  readonly #around: Surroundings
  #routes: readonly NamedProxy[]
  readonly #timers = new Map<number, Timer>()
  readonly #servers: ServerFaults
  #active: readonly ActiveFault[] = []
  #applied: Promise<void> = Promise.resolve()
  #lastId = 0
  #isClosed = false

  constructor(routes: readonly OpenRoute[], around: Surroundings) {
    this.#routes = nameProxies(routes)
    this.#around = around
    this.#servers = new ServerFaults({ isSuccessor: false, ...around })
  }

  get proxies(): readonly NamedProxy[] {
    return this.#routes
  }

  /** Adds an open proxy that a Toxiproxy client has created. */
  addProxy(name: string, address: string, link: Link): void {
    this.#routes = [...this.#routes, { name, isExtra: true, from: '', to: '', address, port: link.port, link }]
  }

  /**
   * Removes the faults of an added proxy, and closes the proxy. Rejects with LabError `usage` for a proxy of the lab.
   */
  async removeProxy(name: string): Promise<void> {
    const found = this.#routes.find((route) => route.isExtra && route.name === name)
    if (!found) throw new LabError('usage', `the proxy ${name} belongs to the lab and cannot be deleted`)
    await this.heal(this.#active.flatMap((one) => (isOfLink(one) && one.at?.proxy === name ? [one.id] : [])))
    this.#routes = this.#routes.filter((route) => route !== found)
    await found.link.close()
  }

  get active(): readonly ActiveFault[] {
    return this.#active
  }

  /** Returns the clock skew of a cluster that visible faults cause, in milliseconds. */
  skewMsOf(cluster: string): number {
    const shown = this.#faultsOn(cluster).filter(isShown)
    return shown.flatMap(({ fault }) => (fault.name === 'skew' ? [fault.ms] : [])).at(-1) ?? 0
  }

  #faultsOn(cluster: string): readonly ActiveServerFault[] {
    return this.#active.filter((one): one is ActiveServerFault => !isOfLink(one) && one.cluster === cluster)
  }

  /**
   * Sets a fault. Rejects with LabError `usage` if the link or cluster does not exist, or with the error of the server.
   */
  async set(request: FaultRequest): Promise<ActiveFault> {
    if (this.#active.length >= FAULTS_MAX)
      throw new LabError('conflict', `the lab has the maximum of ${FAULTS_MAX} faults; remove some faults first`)
    const { forMs, ...fault } = request
    if ('between' in fault) {
      this.#requireLink(fault)
      const active = this.#add(fault, forMs)
      await this.#apply()
      return active
    }
    return this.#servers.withLock(fault.cluster, async (server) => {
      await this.#servers.set(server, fault.fault)
      return this.#add(fault, forMs)
    })
  }

  /** Registers a fault, and assigns its ID. A fault of a server is registered after the server has accepted it. */
  #add(fault: Omit<ActiveLinkFault, 'id'> | Omit<ActiveServerFault, 'id'>, forMs: number | undefined): ActiveFault {
    const untilMs = forMs === undefined ? undefined : this.#around.clock.now() + forMs
    const active: ActiveFault = { id: ++this.#lastId, ...fault, untilMs }
    if (!active.isHidden) this.#emit('fault-set', active)
    if (!isOfLink(active) && isOneShot(active.fault)) return active
    if (!isOfLink(active)) this.#replace(active)
    this.#active = [...this.#active, active]
    if (forMs !== undefined) this.#endIn(forMs, active.id)
    return active
  }

  /**
   * Removes these faults, or all, and resolves to them. If the server of a fault does not respond, keeps this fault,
   * removes all others, and rejects.
   */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]> {
    return this.#end(ids, 'fault-healed')
  }

  /**
   * Sets the faults of a restarted server again, because a restart clears them. If the server may have unknown faults,
   * clears them first. Retries a failed attempt later.
   */
  restoreFaults(cluster: string): Promise<void> {
    if (this.#faultsOn(cluster).length === 0 && !this.#servers.inDoubt.has(cluster)) return Promise.resolve()
    return this.#servers.withLock(cluster, async (server) => {
      if (this.#servers.inDoubt.has(cluster)) await this.#clear(server).catch(() => undefined)
      const newest = new Map(this.#faultsOn(cluster).map(({ fault }) => [settingOf(fault), fault]))
      for (const fault of newest.values()) await this.#servers.set(server, fault).catch(() => undefined)
    })
  }

  async #clear(server: WatchedCluster): Promise<void> {
    const ended = await this.#servers.clear(server)
    if (ended.length === 0) return
    const text = `removed faults that the lab did not set: ${ended.join(', ')}`
    this.#around.emit({ kind: 'note', cluster: server.name, details: { text } })
  }

  /** Removes the previous fault, unless the new one is temporary: then the previous fault applies again afterwards. */
  #replace({ cluster, fault, untilMs }: ActiveServerFault): void {
    if (untilMs !== undefined) return
    const isSame = (one: ActiveServerFault) => isShown(one) && settingOf(one.fault) === settingOf(fault)
    this.#forget(this.#faultsOn(cluster).filter(isSame), 'fault-healed')
  }

  #requireLink({ between: [one, other], at }: LinkFaultRequest): void {
    if (at && this.#routes.some(({ name }) => name === at.proxy)) return
    if (at) throw new LabError('usage', `there is no proxy ${at.proxy}`)
    if (this.#routes.some((route) => isBetween(route, one, other))) return
    const isEnd = (name: string) => this.#routes.some(({ from, to }) => from === name || to === name)
    for (const end of [one, other]) if (!isEnd(end)) this.#servers.require(end)
    throw new LabError('usage', `there is no link between ${one} and ${other}`)
  }

  #endIn(ms: number, id: number): void {
    if (this.#isClosed) return
    const end = () => void this.#end([id], 'fault-expired').catch(() => this.#endIn(HEAL_AGAIN_MS, id))
    this.#timers.set(id, this.#around.clock.setTimer(ms, end))
  }

  async #end(ids: readonly number[] | undefined, kind: EndKind): Promise<readonly ActiveFault[]> {
    if (ids === undefined) {
      // Includes faults that are being set, and unknown faults of servers.
      await this.#servers.settled()
      for (const cluster of this.#servers.inDoubt)
        await this.#servers.withLock(cluster, (server) => this.#clear(server)).catch(() => undefined)
    }
    const chosen = this.#active.filter(({ id }) => ids === undefined || ids.includes(id))
    const links = chosen.filter(isOfLink)
    this.#forget(links, kind)
    await this.#apply()
    const failures: unknown[] = []
    const healed: ActiveFault[] = [...links]
    for (const active of chosen) {
      if (isOfLink(active)) continue
      await this.#endOnServer(active, kind).then(
        () => healed.push(active),
        (error: unknown) => failures.push(error),
      )
    }
    if (failures.length > 0) throw failures[0]
    return healed
  }

  /** Removes a fault from a server. If another fault changes the same setting, applies this other fault again. */
  #endOnServer(ended: ActiveServerFault, kind: EndKind): Promise<void> {
    return this.#servers.withLock(ended.cluster, async (server) => {
      if (!this.#active.includes(ended)) return
      await this.#servers.end(server, ended.fault)
      this.#forget([ended], kind)
      for (const { fault } of this.#faultsOn(ended.cluster))
        if (isSameSetting(fault, ended.fault)) await this.#servers.set(server, fault).catch(() => undefined)
    })
  }

  #forget(ended: readonly ActiveFault[], kind: EndKind): void {
    for (const active of ended) {
      if (!this.#active.includes(active)) continue
      this.#timers.get(active.id)?.cancel()
      this.#timers.delete(active.id)
      this.#active = this.#active.filter((one) => one !== active)
      this.#emit(kind, active)
    }
  }

  #emit(kind: EventDraft['kind'], active: ActiveFault): void {
    const of = isOfLink(active) ? {} : { cluster: active.cluster }
    this.#around.emit({ kind, ...of, details: { ...active } })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers.values()) timer.cancel()
    await Promise.all(this.#routes.map(({ link }) => link.close()))
  }

  /** Applies the active faults to every proxy. Changes run one at a time. */
  #apply(): Promise<void> {
    this.#applied = this.#applied.then(() => this.#applyNow())
    return this.#applied
  }

  async #applyNow(): Promise<void> {
    for (const route of this.#routes) {
      for (const direction of DIRECTIONS)
        route.link.setDirection(direction, directionState(this.#active, route, direction))
      await (downsOf(this.#active, route).length > 0 ? route.link.down() : route.link.up())
    }
  }
}
