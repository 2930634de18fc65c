import type { Kind } from '../../src/lab/model/kinds.js'
import type { Member, World } from './world.js'

/**
 * The secondaries of a topology: a DR copy; a performance secondary; one of each; a performance secondary with its own
 * DR copy; or a performance secondary and two DR copies.
 */
export type Topology = 'dr' | 'performance' | 'both' | 'secondary-copy' | 'two-copies'

/** Returns true if the primary has a copy that can be promoted. */
export const hasCopy = (topology: Topology): boolean => ['dr', 'both', 'two-copies'].includes(topology)

const NAME_OF_SECONDARY: Readonly<Record<Exclude<Topology, 'dr'>, string>> = {
  performance: 'B',
  both: 'C',
  'secondary-copy': 'B',
  'two-copies': 'D',
}

export interface Link {
  readonly kind: Kind
  readonly above: Member
  readonly below: Member
}

/** The current roles of all clusters. A failover exchanges the primary and its copy. */
export class Servers {
  #primary: Member
  #copy: Member | undefined
  /** The performance secondary; undefined if there is none. */
  readonly secondary: Member | undefined
  /** The DR copy of the performance secondary. */
  readonly secondaryCopy: Member | undefined
  /** A second copy of the primary, which an operator reconnects after each failover. */
  readonly otherCopy: Member | undefined
  #term = 0
  #detached: Member | undefined
  readonly #detachCounts = new Map<Member, number>()
  /** The progress of a failover that may lose data. */
  #stage: 'over' | 'ahead' | 'promoted' = 'over'

  constructor(world: World) {
    const { topology } = world.plan
    this.#primary = world.member('A')
    this.#copy = hasCopy(topology) ? world.member('B') : undefined
    this.secondary = topology === 'dr' ? undefined : world.member(NAME_OF_SECONDARY[topology])
    this.otherCopy = topology === 'two-copies' ? world.member('C') : undefined
    this.secondaryCopy = topology === 'secondary-copy' ? world.member('C') : undefined
  }

  get primary(): Member {
    return this.#primary
  }

  /** The DR copy of the primary. */
  get copy(): Member | undefined {
    return this.#copy
  }

  get serving(): readonly Member[] {
    return this.secondary ? [this.primary, this.secondary] : [this.primary]
  }

  get links(): readonly Link[] {
    const { primary: above, copy, otherCopy, secondary, secondaryCopy } = this
    return [
      ...(copy ? [{ kind: 'dr', above, below: copy } as const] : []),
      ...(otherCopy ? [{ kind: 'dr', above, below: otherCopy } as const] : []),
      ...(secondary ? [{ kind: 'performance', above, below: secondary } as const] : []),
      ...(secondary && secondaryCopy ? [{ kind: 'dr', above: secondary, below: secondaryCopy } as const] : []),
    ]
  }

  /** Increases by one with each failover that may lose data. */
  get term(): number {
    return this.#term
  }

  /** Returns true if no failover in progress can lose the writes that this server acknowledges now. */
  isSureOf(server: Member): boolean {
    return this.#stage === 'over' || (this.#stage === 'promoted' && server === this.#primary)
  }

  get isSettled(): boolean {
    return this.#stage === 'over'
  }

  /** Records the start of a failover that may lose data. */
  beginTerm(): void {
    this.#term++
    this.#stage = 'ahead'
  }

  /** Records that a server has no primary and no secondaries. Its writes are lost when it follows a primary again. */
  detach(server: Member): void {
    this.#detachCounts.set(server, this.detachCount(server) + 1)
    this.#detached = server
  }

  isDetached(server: Member): boolean {
    return this.#detached === server
  }

  /** Returns how often a server was in that state until now. */
  detachCount(server: Member): number {
    return this.#detachCounts.get(server) ?? 0
  }

  /** Records that the copy was promoted. */
  swapRoles(): void {
    if (!this.#copy) throw new Error('there is no copy to promote')
    const before = this.#primary
    this.#primary = this.#copy
    this.#copy = before
    if (this.#stage === 'ahead') this.#stage = 'promoted'
  }

  /** Records that all clusters follow the new primary. */
  settle(): void {
    this.#detached = undefined
    this.#stage = 'over'
  }
}

const CLUSTERS: Readonly<Record<Topology, number>> = {
  dr: 2,
  performance: 2,
  both: 3,
  'secondary-copy': 3,
  'two-copies': 4,
}

export const namesOf = (topology: Topology): readonly string[] => ['A', 'B', 'C', 'D'].slice(0, CLUSTERS[topology])
