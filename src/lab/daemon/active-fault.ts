import type { Direction, Passage } from '../proxy/direction.js'
import {
  boundsOf,
  describeLinkFault,
  type Faults,
  LINK_FAULTS,
  type LinkFault,
  type LinkFaultName,
  numbersOf,
} from '../proxy/link-faults.js'
import { describeServerFault, type ServerFault } from './server-fault.js'
import { KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { Route } from '../model/routes.js'

/** A request to inject a fault. */
export type FaultRequest = LinkFaultRequest | ServerFaultRequest

interface FaultOptions {
  /** Duration after which the fault is removed automatically, in milliseconds. */
  readonly forMs?: number | undefined
  /** Hidden from lists and events, for exercises in which learners search for it. Healing works as for other faults. */
  readonly isHidden?: boolean | undefined
}

export interface LinkFaultRequest extends FaultOptions {
  readonly between: readonly [string, string]
  /** True if the fault affects only traffic from the first of the two to the second. */
  readonly isOneWay: boolean
  readonly fault: LinkFault
  /** Limits the fault to one proxy of the link and one direction of it, as Toxiproxy clients set it. */
  readonly at?: ToxicTarget | undefined
}

interface ToxicTarget {
  readonly proxy: string
  readonly direction: Direction
  readonly toxic: string
  /** Fraction of affected connections, 0 to 1. */
  readonly toxicity: number
}

interface ServerFaultRequest extends FaultOptions {
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
type ProxyEnds = Pick<Route, 'from' | 'to' | 'fromNode' | 'toNode'> & { readonly name?: string | undefined }

/** Whether `one` dials `other` through this proxy. Each is a cluster or a node. */
export const isBetween = ({ from, fromNode, to, toNode }: ProxyEnds, one: string, other: string): boolean =>
  [from, fromNode].includes(one) && [to, toNode].includes(other)

/** Whether a fault affects traffic in this direction of the proxy through which `from` dials `to`. */
export const meetsDirection = (
  { between: [one, other], isOneWay, at }: ActiveLinkFault,
  { name, ...place }: ProxyEnds,
  direction: Direction,
): boolean => {
  if (at) return at.proxy === name && at.direction === direction
  const leads = (from: string, to: string) =>
    direction === 'up' ? isBetween(place, from, to) : isBetween(place, to, from)
  return leads(one, other) || (!isOneWay && leads(other, one))
}

/** Combines the faults of a direction. Of two faults with the same name, the newer applies. `partition` overrides `hold`. */
export const directionState = (
  active: readonly ActiveFault[],
  place: ProxyEnds,
  direction: Direction,
): DirectionState => {
  const met = active.filter(isOfLink).filter((one) => meetsDirection(one, place, direction))
  const isPartitioned = met.some(({ fault }) => fault.name === 'partition')
  const isHeld = met.some(({ fault }) => fault.name === 'hold')
  const faults = Object.assign({}, ...met.map(({ fault, at }) => toFaults(fault, at?.toxicity))) as Faults
  return { passage: isPartitioned ? 'partitioned' : isHeld ? 'held' : 'open', faults }
}

/** Returns the faults that prevent a proxy from listening. */
export const downsOf = (active: readonly ActiveFault[], place: ProxyEnds): readonly ActiveLinkFault[] =>
  active.filter(isOfLink).filter((one) => one.fault.name === 'down' && meetsDirection(one, place, 'up'))

const toFaults = (fault: LinkFault, toxicity = 1): Faults => {
  const numbers = numbersOf(fault)
  if (Object.keys(numbers).length === 0) return {}
  return { [fault.name]: toxicity === 1 ? numbers : { ...numbers, toxicity } }
}

/** Describes the target: `A <-> C`, `A -> C` for traffic from A only, or the name of a server's cluster. */
export const describeTarget = (active: ActiveFault): string => {
  if (!isOfLink(active)) return active.cluster
  const { between, isOneWay, at } = active
  if (at) return `${at.proxy} (${at.direction === 'up' ? 'upstream' : 'downstream'})`
  return between.join(isOneWay ? ' -> ' : ' <-> ')
}

/** Describes the fault, for example `latency 80 ms ± 20 ms`. */
export const describeFault = (active: ActiveFault): string =>
  isOfLink(active) ? describeLinkFault(active.fault) : describeServerFault(active.fault)

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

/** Whether a value is valid, and a description of valid values. */
interface Rule {
  readonly isGood: (value: unknown) => boolean
  readonly words: string
  readonly isOptional?: true
}

type Rules = Readonly<Record<string, Rule>>

const number = (least: number, most: number): Rule => ({
  isGood: (value) => typeof value === 'number' && value >= least && value <= most,
  words: `a number from ${least} to ${most}`,
})
const oneOf = (...texts: readonly string[]): Rule => ({
  isGood: (value) => texts.some((text) => text === value),
  words: `one of ${texts.join(', ')}`,
})
const optional = (rule: Rule): Rule => ({ ...rule, isOptional: true })

/** Ten years, in milliseconds. */
const LONG_MS_MAX = 10 * 365 * 24 * 3_600_000

const TEXT: Rule = {
  isGood: (value) => typeof value === 'string' && /^[^\p{Cc}]{1,256}$/u.test(value),
  words: 'a string of 1 to 256 characters',
}
const KIND = optional(oneOf(...KINDS))

const rulesOf = ({ fields }: (typeof LINK_FAULTS)[LinkFaultName]): Rules =>
  Object.fromEntries(
    fields.map((field) => {
      const rule = number(...boundsOf(field))
      return [field.name, field.isOptional ? optional(rule) : rule]
    }),
  )
const LINK_RULES: Readonly<Record<string, Rules>> = Object.fromEntries(
  Object.entries(LINK_FAULTS).map(([name, row]) => [name, rulesOf(row)]),
)

const SERVER_FAULTS: Readonly<Record<ServerFault['name'], Rules>> = {
  'hold-state': { state: TEXT, kind: KIND },
  skew: { ms: number(-LONG_MS_MAX, LONG_MS_MAX) },
  disk: { state: oneOf('full', 'fail', 'slow'), delayMs: optional(number(0, 60_000)) },
  corrupt: {
    tree: oneOf('replicated', 'local'),
    page: {
      isGood: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255,
      words: 'a page from 0 to 255',
    },
  },
  'expire-token': { id: TEXT, kind: KIND },
}

const AT: Rules = { proxy: TEXT, direction: oneOf('up', 'down'), toxic: TEXT, toxicity: number(0, 1) }
const BOOLEAN: Rule = { isGood: (value) => typeof value === 'boolean', words: 'true or false', isOptional: true }
const OPTIONS: Rules = { forMs: optional(number(0, LONG_MS_MAX)), isHidden: BOOLEAN }

type Given = Readonly<Record<string, unknown>>

/** Validates a request to set a fault, and returns its known properties. Throws a usage error that names the problem. */
export const parseFaultRequest = (value: unknown): FaultRequest => {
  if (!isRecord(value) || !isRecord(value.fault)) throw new LabError('usage', 'the body is not a fault')
  const options = pick(value, OPTIONS)
  if (value.between === undefined) {
    const { cluster } = pick(value, { cluster: TEXT })
    return { ...options, cluster, fault: parseFault(value.fault, SERVER_FAULTS) } as FaultRequest
  }
  const { between } = value
  const at = isRecord(value.at) ? pick(value.at, AT) : undefined
  // Proxies that clients have added have no clusters.
  const isName = at ? (name: unknown) => typeof name === 'string' : TEXT.isGood
  if (!Array.isArray(between) || between.length !== 2 || !between.every(isName))
    throw new LabError('usage', '"between" must be the names of two clusters or nodes')
  const { isOneWay = false } = pick(value, { isOneWay: BOOLEAN })
  const fault = parseFault(value.fault, LINK_RULES)
  return { ...options, between, isOneWay, fault, ...(at && { at }) } as unknown as FaultRequest
}

const parseFault = (given: Given, known: Readonly<Record<string, Rules>>): LinkFault | ServerFault => {
  const { name } = given
  if (typeof name !== 'string' || !Object.hasOwn(known, name))
    throw new LabError('usage', `the name of a fault must be one of ${Object.keys(known).join(', ')}`)
  return { name, ...pick(given, known[name] ?? {}) } as unknown as LinkFault | ServerFault
}

const pick = (given: Given, rules: Rules): Given =>
  Object.fromEntries(
    Object.entries(rules).flatMap(([name, { isGood, words, isOptional }]) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined
      if (isOptional && (value === undefined || value === null)) return []
      if (!isGood(value)) throw new LabError('usage', `"${name}" must be ${words}`)
      return [[name, value]]
    }),
  )

const isRecord = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
