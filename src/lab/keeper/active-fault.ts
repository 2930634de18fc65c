import type { Direction, Passage } from '../proxy/direction.js'
import { describeLinkFault, type Faults, type LinkFault, numbersOf } from '../proxy/link-faults.js'
import { describeServerFault, type ServerFault } from './server-fault.js'

/** Somebody's wish that something be wrong. */
export type FaultRequest = LinkFaultRequest | ServerFaultRequest

interface Wish {
  /** Healed by itself after so long. */
  readonly forMs?: number | undefined
  /** Neither listed nor told of: somebody is to find it. It is healed as any other. */
  readonly isHidden?: boolean | undefined
}

export interface LinkFaultRequest extends Wish {
  readonly between: readonly [string, string]
  /** True when only traffic that the first of the two sends is met. */
  readonly isOneWay: boolean
  readonly fault: LinkFault
  /** Narrows it down to one proxy of the link, and to one direction of that, as toxiproxy's clients set it. */
  readonly at?: ToxicPlace | undefined
}

interface ToxicPlace {
  readonly proxy: string
  readonly direction: Direction
  readonly toxic: string
  /** The share of connections that are met, from 0 to 1. */
  readonly toxicity: number
}

interface ServerFaultRequest extends Wish {
  readonly cluster: string
  readonly fault: ServerFault
}

/** A fault that is set, until it is healed or its time is over. */
export type ActiveFault = ActiveLinkFault | ActiveServerFault

interface Active {
  /** Small and counted, for people to name it. */
  readonly id: number
  /** Milliseconds since the epoch; undefined: until it is healed. */
  readonly untilMs?: number | undefined
}

export interface ActiveLinkFault extends Active, Omit<LinkFaultRequest, 'forMs'> {}

export interface ActiveServerFault extends Active, Omit<ServerFaultRequest, 'forMs'> {}

/** Whether people are told of it. */
export const isShown = ({ isHidden }: ActiveFault): boolean => isHidden !== true

export const isOfLink = (active: ActiveFault): active is ActiveLinkFault => 'between' in active

/** The state of one direction of one proxy under all faults that meet it. */
interface DirectionState {
  readonly passage: Passage
  readonly faults: Faults
}

/** A proxy, through which `from` dials `to`. */
interface ProxyPlace {
  readonly from: string
  readonly to: string
  /** The nodes of these clusters, where they are several. */
  readonly fromNode?: string | undefined
  readonly toNode?: string | undefined
  readonly name?: string | undefined
}

/** Whether a proxy is that through which the one dials the other; each is a cluster or a node. */
export const isBetween = ({ from, fromNode, to, toNode }: ProxyPlace, one: string, other: string): boolean =>
  [from, fromNode].includes(one) && [to, toNode].includes(other)

/** Whether a fault meets what flows in this direction of the proxy through which `from` dials `to`. */
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

/** Of two faults of one name the newer one counts. A cut wins over bytes that wait. */
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

/** Whether the proxy through which `from` dials `to` is to listen at all. */
export const isDown = (active: readonly ActiveFault[], place: ProxyPlace): boolean =>
  active.some((one) => isOfLink(one) && one.fault.name === 'down' && meetsDirection(one, place, 'up'))

const toFaults = (fault: LinkFault, toxicity = 1): Faults => {
  const numbers = numbersOf(fault)
  if (Object.keys(numbers).length === 0) return {}
  return { [fault.name]: toxicity === 1 ? numbers : { ...numbers, toxicity } }
}

/** Whom it concerns: `A <-> C`, `A -> C` when only what A sends is met, or a server by its cluster. */
export const describePlace = (active: ActiveFault): string => (isOfLink(active) ? describeLink(active) : active.cluster)

/** `latency 80 ms, give or take 20 ms`. */
export const describeFault = (active: ActiveFault): string =>
  isOfLink(active) ? describeLinkFault(active.fault) : describeServerFault(active.fault)

const describeLink = ({ between: [one, other], isOneWay, at }: ActiveLinkFault): string =>
  at
    ? `${at.proxy} (${at.direction === 'up' ? 'upstream' : 'downstream'})`
    : `${one} ${isOneWay ? '->' : '<->'} ${other}`
