import { LabError } from '../model/lab-error.js'
import type { Direction, Passage } from '../proxy/direction.js'
import { describeLinkFault, type Faults, type LinkFault, numbersOf } from '../proxy/link-faults.js'
import { describeServerFault, type ServerFault } from './server-fault.js'

/** A request to inject a fault. */
export type FaultRequest = LinkFaultRequest | ServerFaultRequest

interface Wish {
  /** Duration after which the fault is removed automatically, in milliseconds. */
  readonly forMs?: number | undefined
  /** Hidden from lists and events, for exercises in which learners search for it. Healing works as for other faults. */
  readonly isHidden?: boolean | undefined
}

export interface LinkFaultRequest extends Wish {
  readonly between: readonly [string, string]
  /** True if the fault affects only traffic from the first of the two to the second. */
  readonly isOneWay: boolean
  readonly fault: LinkFault
  /** Limits the fault to one proxy of the link and one direction of it, as Toxiproxy clients set it. */
  readonly at?: ToxicPlace | undefined
}

interface ToxicPlace {
  readonly proxy: string
  readonly direction: Direction
  readonly toxic: string
  /** Fraction of affected connections, 0 to 1. */
  readonly toxicity: number
}

interface ServerFaultRequest extends Wish {
  readonly cluster: string
  readonly fault: ServerFault
}

/** A fault that is set until it is healed or expires. */
export type ActiveFault = ActiveLinkFault | ActiveServerFault

interface Active {
  /** A small sequential number, easy to type. */
  readonly id: number
  /** Milliseconds since the epoch. Undefined: until it is healed. */
  readonly untilMs?: number | undefined
}

export interface ActiveLinkFault extends Active, Omit<LinkFaultRequest, 'forMs'> {}

export interface ActiveServerFault extends Active, Omit<ServerFaultRequest, 'forMs'> {}

/** Whether lists and events show the fault. */
export const isShown = ({ isHidden }: ActiveFault): boolean => isHidden !== true

export const isOfLink = (active: ActiveFault): active is ActiveLinkFault => 'between' in active

/** The state of one direction of one proxy under all faults that affect it. */
interface DirectionState {
  readonly passage: Passage
  readonly faults: Faults
}

/** A proxy through which `from` dials `to`. */
interface ProxyPlace {
  readonly from: string
  readonly to: string
  /** The nodes of these clusters, if they have several. */
  readonly fromNode?: string | undefined
  readonly toNode?: string | undefined
  readonly name?: string | undefined
}

/** Whether `one` dials `other` through this proxy. Each is a cluster or a node. */
export const isBetween = ({ from, fromNode, to, toNode }: ProxyPlace, one: string, other: string): boolean =>
  [from, fromNode].includes(one) && [to, toNode].includes(other)

/** Whether a fault affects traffic in this direction of the proxy through which `from` dials `to`. */
export const meetsDirection = (
  { between: [one, other], isOneWay, at }: ActiveLinkFault,
  { name, ...place }: ProxyPlace,
  direction: Direction,
): boolean => {
  if (at) return at.proxy === name && at.direction === direction
  const leads = (from: string, to: string) =>
    direction === 'up' ? isBetween(place, from, to) : isBetween(place, to, from)
  return leads(one, other) || (!isOneWay && leads(other, one))
}

/** Combines the faults of a direction. Of two faults with one name, the newer applies. `partition` overrides `hold`. */
export const directionState = (
  active: readonly ActiveFault[],
  place: ProxyPlace,
  direction: Direction,
): DirectionState => {
  const met = active.filter(isOfLink).filter((one) => meetsDirection(one, place, direction))
  const isPartitioned = met.some(({ fault }) => fault.name === 'partition')
  const isHeld = met.some(({ fault }) => fault.name === 'hold')
  const faults = Object.assign({}, ...met.map(({ fault, at }) => toFaults(fault, at?.toxicity))) as Faults
  return { passage: isPartitioned ? 'partitioned' : isHeld ? 'held' : 'open', faults }
}

/** Whether a fault prevents the proxy through which `from` dials `to` from listening. */
export const isDown = (active: readonly ActiveFault[], place: ProxyPlace): boolean =>
  active.some((one) => isOfLink(one) && one.fault.name === 'down' && meetsDirection(one, place, 'up'))

const toFaults = (fault: LinkFault, toxicity = 1): Faults => {
  const numbers = numbersOf(fault)
  if (Object.keys(numbers).length === 0) return {}
  return { [fault.name]: toxicity === 1 ? numbers : { ...numbers, toxicity } }
}

/** Describes the target: `A <-> C`, `A -> C` for traffic from A only, or the name of a server's cluster. */
export const describePlace = (active: ActiveFault): string => (isOfLink(active) ? describeLink(active) : active.cluster)

/** Describes the fault, for example `latency 80 ms, give or take 20 ms`. */
export const describeFault = (active: ActiveFault): string =>
  isOfLink(active) ? describeLinkFault(active.fault) : describeServerFault(active.fault)

const describeLink = ({ between: [one, other], isOneWay, at }: ActiveLinkFault): string =>
  at
    ? `${at.proxy} (${at.direction === 'up' ? 'upstream' : 'downstream'})`
    : `${one} ${isOneWay ? '->' : '<->'} ${other}`

/** Finds the faults of links between two ends, in any order. Each end is given by its names and the names of its nodes. */
export const findBetween = (
  active: readonly ActiveFault[],
  ones: readonly string[],
  others: readonly string[],
): readonly ActiveFault[] => {
  const leads = (from: string, to: string) => ones.includes(from) && others.includes(to)
  return active.filter(isOfLink).filter(({ between: [from, to] }) => leads(from, to) || leads(to, from))
}

/** Heals each fault. A fault that has expired or was healed since it was listed counts as healed. */
export const healEach = async (
  heal: (id: number) => Promise<unknown>,
  chosen: readonly ActiveFault[],
): Promise<readonly ActiveFault[]> => {
  for (const { id } of chosen) {
    await heal(id).catch((error: unknown) => {
      if (!(error instanceof LabError && error.code === 'usage')) throw error
    })
  }
  return chosen
}
