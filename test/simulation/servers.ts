import type { Kind } from '../../src/lab/model/kinds.js'
import type { Member, World } from './world.js'

/**
 * Which secondaries there are: one for disaster recovery, one that serves clients, one of each, one that serves and its copy,
 * or one that serves and two for disaster recovery.
 */
export type Topology = 'dr' | 'performance' | 'both' | 'below' | 'twins'

/** The primary has a copy that could take over. */
export const hasCopy = (topology: Topology): boolean => ['dr', 'both', 'twins'].includes(topology)

const NAME_OF_SECONDARY: Readonly<Record<Exclude<Topology, 'dr'>, string>> = {
  performance: 'B',
  both: 'C',
  below: 'B',
  twins: 'D',
}

export interface Link {
  readonly kind: Kind
  readonly above: Member
  readonly below: Member
}

/** Who is what now. A failover has the primary and its copy change places. */
export class Servers {
  #primary: Member
  #copy: Member | undefined
  /** Serves clients and asks the primary; undefined where there is none. */
  readonly secondary: Member | undefined
  /** Its copy for disaster recovery. */
  readonly secondaryCopy: Member | undefined
  /** A second copy of the primary, which an operator brings along after each failover. */
  readonly otherCopy: Member | undefined
  #term = 0
  #apart: Member | undefined
  readonly #parted = new Map<Member, number>()
  /** How far a failover is that may lose something. */
  #stage: 'over' | 'ahead' | 'promoted' = 'over'

  constructor(world: World) {
    const { topology } = world.plan
    this.#primary = world.member('A')
    this.#copy = hasCopy(topology) ? world.member('B') : undefined
    this.secondary = topology === 'dr' ? undefined : world.member(NAME_OF_SECONDARY[topology])
    this.otherCopy = topology === 'twins' ? world.member('C') : undefined
    this.secondaryCopy = topology === 'below' ? world.member('C') : undefined
  }

  get primary(): Member {
    return this.#primary
  }

  /** The copy for disaster recovery. */
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

  /** One more with each failover that may lose something. */
  get term(): number {
    return this.#term
  }

  /** What this one acknowledges now will not be lost by a failover that is under way. */
  isSureOf(server: Member): boolean {
    return this.#stage === 'over' || (this.#stage === 'promoted' && server === this.#primary)
  }

  get isSettled(): boolean {
    return this.#stage === 'over'
  }

  /** A failover is ahead that may lose something. */
  beginTerm(): void {
    this.#term++
    this.#stage = 'ahead'
  }

  /** From now on it belongs to nobody, and takes writes that are wiped when it follows somebody again. */
  part(server: Member): void {
    this.#parted.set(server, this.partings(server) + 1)
    this.#apart = server
  }

  isApart(server: Member): boolean {
    return this.#apart === server
  }

  /** How often it belonged to nobody until now. */
  partings(server: Member): number {
    return this.#parted.get(server) ?? 0
  }

  /** The copy was promoted. */
  changePlaces(): void {
    if (!this.#copy) throw new Error('nobody is there to take over')
    const before = this.#primary
    this.#primary = this.#copy
    this.#copy = before
    if (this.#stage === 'ahead') this.#stage = 'promoted'
  }

  /** Everybody follows the new primary. */
  settle(): void {
    this.#apart = undefined
    this.#stage = 'over'
  }
}

const CLUSTERS: Readonly<Record<Topology, number>> = { dr: 2, performance: 2, both: 3, below: 3, twins: 4 }

export const namesOf = (topology: Topology): readonly string[] => ['A', 'B', 'C', 'D'].slice(0, CLUSTERS[topology])
