import { alternatives } from '../../base/counted.js'
import { findMismatches, requireValid } from '../documents/check.js'
import { isRecord, mapWith, type Schema } from '../documents/schema.js'
import { type Direction, DIRECTIONS, type Passage } from '../proxy/direction.js'
import {
  boundsOf,
  describeLinkFault,
  type Faults,
  LINK_FAULTS,
  type LinkFault,
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
  /**
   * Hides the fault from lists and events, for exercises in which learners search for it. Such a fault is healed like
   * any other.
   */
  readonly isHidden?: boolean | undefined
}

export interface LinkFaultRequest extends FaultOptions {
  readonly between: readonly [string, string]
  /** Whether the fault affects only traffic from the first end to the second. */
  readonly isOneWay: boolean
  readonly fault: LinkFault
  /** Limits the fault to one direction of one proxy of the link, for faults that Toxiproxy clients set. */
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

/** Whether a fault stops all traffic of a link in at least one direction. */
export const stopsTraffic = (active: ActiveFault): boolean =>
  isOfLink(active) && ['partition', 'hold', 'down'].includes(active.fault.name)

/** The state of one direction of one proxy under all faults that affect it. */
interface DirectionState {
  readonly passage: Passage
  readonly faults: Faults
}

/** The two ends of a proxy: `from` dials `to` through the proxy. */
type ProxyEnds = Pick<Route, 'from' | 'to' | 'fromNode' | 'toNode'> & { readonly name?: string | undefined }

/** Whether the first cluster or node dials the second through this proxy. */
export const isBetween = ({ from, fromNode, to, toNode }: ProxyEnds, first: string, second: string): boolean =>
  [from, fromNode].includes(first) && [to, toNode].includes(second)

/** Whether a fault affects traffic in this direction of a proxy. */
export const affectsDirection = (
  { between: [first, second], isOneWay, at }: ActiveLinkFault,
  { name, ...ends }: ProxyEnds,
  direction: Direction,
): boolean => {
  if (at) return at.proxy === name && at.direction === direction
  const isTraffic = (from: string, to: string) =>
    direction === 'up' ? isBetween(ends, from, to) : isBetween(ends, to, from)
  return isTraffic(first, second) || (!isOneWay && isTraffic(second, first))
}

/**
 * Combines the faults of a direction. Of two faults with the same name, the newer applies. `partition` overrides
 * `hold`.
 */
export const directionState = (
  active: readonly ActiveFault[],
  proxy: ProxyEnds,
  direction: Direction,
): DirectionState => {
  const met = active.filter(isOfLink).filter((fault) => affectsDirection(fault, proxy, direction))
  const isPartitioned = met.some(({ fault }) => fault.name === 'partition')
  const isHeld = met.some(({ fault }) => fault.name === 'hold')
  const faults = Object.assign({}, ...met.map(({ fault, at }) => toFaults(fault, at?.toxicity))) as Faults
  return { passage: isPartitioned ? 'partitioned' : isHeld ? 'held' : 'open', faults }
}

/** Returns the faults that prevent a proxy from listening. */
export const downsOf = (active: readonly ActiveFault[], proxy: ProxyEnds): readonly ActiveLinkFault[] =>
  active.filter(isOfLink).filter((each) => each.fault.name === 'down' && affectsDirection(each, proxy, 'up'))

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

/**
 * Finds the faults of links between two ends. Each end is a list: the name of the cluster and the names of its nodes.
 */
export const findBetween = (
  active: readonly ActiveFault[],
  first: readonly string[],
  second: readonly string[],
): readonly ActiveFault[] => {
  const connects = (from: string, to: string) => first.includes(from) && second.includes(to)
  return active.filter(isOfLink).filter(({ between: [from, to] }) => connects(from, to) || connects(to, from))
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

/** Ten years, in milliseconds. */
const LONG_MS_MAX = 10 * 365 * 24 * 3_600_000

const TEXT: Schema = {
  type: 'string',
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,256}$',
  title: 'a string of 1 to 256 characters',
}
const KIND: Schema = { type: 'string', enum: KINDS }
const PAGE: Schema = { type: 'integer', minimum: 0, maximum: 255 }
const BOOLEAN: Schema = { type: 'boolean' }

const range = (minimum: number, maximum: number): Schema => {
  const title = `a number from ${minimum} to ${maximum}`
  return { type: 'number', minimum, maximum, title }
}
const oneOf = (...choices: readonly string[]): Schema => ({ type: 'string', enum: choices })

const LINK_FAULT_SCHEMAS: Readonly<Record<string, Schema>> = Object.fromEntries(
  Object.entries(LINK_FAULTS).map(([name, { fields }]) => {
    const required = fields.filter(({ isOptional }) => !isOptional).map((field) => field.name)
    return [name, mapWith(Object.fromEntries(fields.map((field) => [field.name, range(...boundsOf(field))])), required)]
  }),
)

const SERVER_FAULT_SCHEMAS: Readonly<Record<ServerFault['name'], Schema>> = {
  'hold-state': mapWith({ state: TEXT, kind: KIND }, ['state']),
  skew: mapWith({ ms: range(-LONG_MS_MAX, LONG_MS_MAX) }, ['ms']),
  disk: mapWith({ state: oneOf('full', 'fail', 'slow'), delayMs: range(0, 60_000) }, ['state']),
  corrupt: mapWith({ tree: oneOf('replicated', 'local'), page: PAGE }, ['tree', 'page']),
  'expire-token': mapWith({ id: TEXT, kind: KIND }, ['id']),
}

const TARGET = { proxy: TEXT, direction: oneOf(...DIRECTIONS), toxic: TEXT, toxicity: range(0, 1) }
const OPTIONS = mapWith({ forMs: range(0, LONG_MS_MAX), isHidden: BOOLEAN })

type Given = Readonly<Record<string, unknown>>

/**
 * Validates a request to set a fault, and returns its known properties. Throws LabError `usage` with the first problem.
 */
export const parseFaultRequest = (value: unknown): FaultRequest => {
  if (!isRecord(value) || !isRecord(value.fault))
    throw new LabError(
      'usage',
      'the body is not a fault: specify an object with "fault" and with "between" or "cluster"',
    )
  const options = pick(value, OPTIONS)
  if (value.between === undefined) {
    const { cluster } = pick(value, mapWith({ cluster: TEXT }, ['cluster']))
    return { ...options, cluster, fault: parseFault(value.fault, SERVER_FAULT_SCHEMAS) } as FaultRequest
  }
  const { between } = value
  const at = isRecord(value.at) ? pick(value.at, mapWith(TARGET, Object.keys(TARGET))) : undefined
  // A proxy that a Toxiproxy client has added belongs to no cluster, so both names are empty.
  const name = at ? { type: 'string' as const } : TEXT
  const isPair = Array.isArray(between) && between.length === 2
  if (!isPair || between.some((each) => findMismatches(name, each, { path: [], name: '' }).length > 0))
    throw new LabError('usage', '"between" must be the names of two clusters or nodes')
  const { isOneWay = false } = pick(value, mapWith({ isOneWay: BOOLEAN }))
  const fault = parseFault(value.fault, LINK_FAULT_SCHEMAS)
  return { ...options, between, isOneWay, fault, ...(at && { at }) } as unknown as FaultRequest
}

const parseFault = (given: Given, schemas: Readonly<Record<string, Schema>>): LinkFault | ServerFault => {
  const { name } = given
  if (typeof name !== 'string' || !Object.hasOwn(schemas, name))
    throw new LabError('usage', `the name of a fault must be ${alternatives(Object.keys(schemas))}`)
  return { name, ...pick(given, schemas[name] ?? {}) } as unknown as LinkFault | ServerFault
}

/**
 * Returns the properties that the schema names. A property with the value null counts as absent. Throws LabError
 * `usage` if a property is invalid.
 */
const pick = (given: Given, schema: Schema): Given => {
  const names = Object.keys(schema.properties ?? {}).filter((name) => Object.hasOwn(given, name))
  const picked = Object.fromEntries(names.flatMap((name) => (given[name] == null ? [] : [[name, given[name]]])))
  requireValid('the request', schema, picked, 'the fault')
  return picked
}
