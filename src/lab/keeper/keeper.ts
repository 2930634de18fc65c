import type { Clock, Timer } from '../../base/clock.js'
import { parseHostPort } from '../../base/network.js'
import type { Random } from '../../base/random.js'
import type { EventDraft } from '../events/event.js'
import { LabError } from '../lab-error.js'
import type { Direction } from '../proxy/faults.js'
import { Link } from '../proxy/link.js'
import { type ActiveFault, isDown, laneState, type LinkFault } from './active-fault.js'
import type { Route } from './routes.js'

export interface FaultRequest {
  readonly between: readonly [string, string]
  readonly isOneWay: boolean
  readonly fault: LinkFault
  /** Healed by itself after so long. */
  readonly forMs?: number | undefined
}

export interface OpenRoute extends Route {
  readonly link: Link
}

export interface KeeperOptions {
  readonly routes: readonly Route[]
  readonly clock: Clock
  readonly random: Random
  /** Told of every fault that is set, healed or has had its time. */
  readonly tell: (event: EventDraft) => void
}

const DIRECTIONS: readonly Direction[] = ['up', 'down']

/** Active faults at once. */
const FAULTS_MAX = 1000

/** Holds the links of a lab open and what is wrong with them, with the timers that heal. Whoever opens it closes it. */
export class Keeper {
  readonly #clock: Clock
  readonly #routes: readonly OpenRoute[]
  readonly #tell: (event: EventDraft) => void
  readonly #timers = new Map<number, Timer>()
  #active: readonly ActiveFault[] = []
  #applied: Promise<void> = Promise.resolve()
  #lastId = 0

  private constructor(routes: readonly OpenRoute[], { clock, tell }: Pick<KeeperOptions, 'clock' | 'tell'>) {
    this.#routes = routes
    this.#clock = clock
    this.#tell = tell
  }

  /** Rejects, with everything closed again, when one of the ports is taken. */
  static async open(options: KeeperOptions): Promise<Keeper> {
    const { routes, clock, random } = options
    const opened: OpenRoute[] = []
    try {
      for (const route of routes) {
        const target = parseHostPort(route.address)
        opened.push({ ...route, link: await Link.open({ port: route.port, target, clock, random }) })
      }
    } catch (error) {
      await Promise.all(opened.map(({ link }) => link.close()))
      throw error
    }
    return new Keeper(opened, options)
  }

  /** For links that somebody else has opened, and closes. */
  static over(routes: readonly OpenRoute[], options: Pick<KeeperOptions, 'clock' | 'tell'>): Keeper {
    return new Keeper(routes, options)
  }

  get active(): readonly ActiveFault[] {
    return this.#active
  }

  /** Throws a usage error when there is no such link. */
  async set({ between, isOneWay, fault, forMs }: FaultRequest): Promise<ActiveFault> {
    const [one, other] = between
    if (!this.#routes.some(({ from, to }) => from === one && to === other))
      throw new LabError('usage', `there is no link between ${one} and ${other}`)
    if (this.#active.length >= FAULTS_MAX)
      throw new LabError('conflict', `${FAULTS_MAX} faults are set already; heal some first`)
    const id = ++this.#lastId
    const untilMs = forMs === undefined ? undefined : this.#clock.now() + forMs
    const active: ActiveFault = { id, between, isOneWay, fault, untilMs }
    if (forMs !== undefined)
      this.#timers.set(
        id,
        this.#clock.setTimer(forMs, () => void this.#end([id], 'fault-expired')),
      )
    this.#active = [...this.#active, active]
    this.#tell({ kind: 'fault-set', details: { ...active } })
    await this.#apply()
    return active
  }

  /** Ends these faults, or all; returns those that there were. */
  heal(ids?: readonly number[]): Promise<readonly ActiveFault[]> {
    return this.#end(ids, 'fault-healed')
  }

  async #end(
    ids: readonly number[] | undefined,
    kind: 'fault-healed' | 'fault-expired',
  ): Promise<readonly ActiveFault[]> {
    const healed = this.#active.filter(({ id }) => ids === undefined || ids.includes(id))
    for (const { id } of healed) {
      this.#timers.get(id)?.cancel()
      this.#timers.delete(id)
    }
    this.#active = this.#active.filter((one) => !healed.includes(one))
    for (const fault of healed) this.#tell({ kind, details: { ...fault } })
    await this.#apply()
    return healed
  }

  async close(): Promise<void> {
    for (const timer of this.#timers.values()) timer.cancel()
    await Promise.all(this.#routes.map(({ link }) => link.close()))
  }

  /** Brings every proxy into the state that the active faults ask for; one change after the other. */
  #apply(): Promise<void> {
    this.#applied = this.#applied.then(() => this.#applyNow())
    return this.#applied
  }

  async #applyNow(): Promise<void> {
    for (const { from, to, link } of this.#routes) {
      for (const direction of DIRECTIONS) link.setLane(direction, laneState(this.#active, from, to, direction))
      await (isDown(this.#active, from, to) ? link.down() : link.up())
    }
  }
}
