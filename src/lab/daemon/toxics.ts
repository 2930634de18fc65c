import { pairOf } from '../model/routes.js'
import type { Direction } from '../proxy/direction.js'
import {
  boundsOf,
  type FaultName,
  LINK_FAULTS,
  type LinkFault,
  makeLinkFault,
  numbersOf,
  TOXIC_NAMES,
} from '../proxy/link-faults.js'
import { type ActiveFault, type ActiveLinkFault, isOfLink, isShown, affectsDirection } from './active-fault.js'
import type { NamedProxy } from './open-routes.js'

/** An error with the message and HTTP status of Toxiproxy. */
export class ToxiproxyError extends Error {
  override readonly name = 'ToxiproxyError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export const badRequest = (text: string): ToxiproxyError => new ToxiproxyError(400, `bad request body: ${text}`)

/**
 * A toxic in the format of Toxiproxy 2. Times in milliseconds, except the slicer's delay in microseconds. Rates in
 * kB/s.
 */
export interface Toxic {
  readonly name: string
  readonly type: FaultName
  readonly stream: 'upstream' | 'downstream'
  readonly toxicity: number
  readonly attributes: Readonly<Record<string, number>>
}

const defaultsOf = (type: FaultName): Readonly<Record<string, number>> =>
  Object.fromEntries(LINK_FAULTS[type].fields.map(({ toxic }) => [toxic, 0]))

/**
 * Returns the toxic of a fault. Undefined if Toxiproxy has none. If no Toxiproxy client set the fault, its ID is the
 * name.
 */
export const toToxic = ({ id, fault, at }: ActiveLinkFault, direction: Direction): Toxic | undefined => {
  const type = TOXIC_NAMES.find((name) => name === fault.name)
  if (!type) return undefined
  const numbers = numbersOf(fault)
  const attributes = LINK_FAULTS[type].fields.map(
    ({ name, toxic, scale = 1 }) => [toxic, Math.round((numbers[name] ?? 0) / scale)] as const,
  )
  const stream = direction === 'up' ? 'upstream' : 'downstream'
  const name = at?.toxic ?? `fault_${id}_${stream}`
  return { attributes: Object.fromEntries(attributes), name, type, stream, toxicity: at?.toxicity ?? 1 }
}

/**
 * Parses a toxic. Missing values get the defaults of Toxiproxy, or in an update the values of the toxic `known`. Throws
 * `ToxiproxyError` for an invalid toxic.
 */
export const parseToxic = (value: Readonly<Record<string, unknown>>, known?: Toxic): Toxic => {
  const type = known?.type ?? TOXIC_NAMES.find((name) => name === value.type)
  if (!type) throw new ToxiproxyError(400, 'invalid toxic type')
  const stream = known?.stream ?? (value.stream || 'downstream')
  if (stream !== 'upstream' && stream !== 'downstream')
    throw new ToxiproxyError(400, 'stream was invalid, can be either upstream or downstream')
  const toxicity = value.toxicity ?? known?.toxicity ?? 1
  if (typeof toxicity !== 'number' || !(toxicity >= 0 && toxicity <= 1))
    throw badRequest('toxicity must be a number from 0 to 1')
  const attributes = parseAttributes(type, value.attributes, known?.attributes ?? defaultsOf(type))
  const name = known?.name ?? (typeof value.name === 'string' && value.name !== '' ? value.name : `${type}_${stream}`)
  return { name, type, stream, toxicity, attributes }
}

const parseAttributes = (type: FaultName, given: unknown, known: Toxic['attributes']): Toxic['attributes'] => {
  if (given === undefined || given === null) return known
  if (typeof given !== 'object') throw badRequest('attributes must be an object')
  const attributes = { ...known }
  for (const [name, value] of Object.entries(given)) {
    const field = LINK_FAULTS[type].fields.find(({ toxic }) => toxic === name)
    if (!field) continue
    const most = Math.floor(boundsOf(field)[1] / (field.scale ?? 1))
    if (typeof value !== 'number' || !(value >= 0 && value <= most))
      throw badRequest(`${name} must be a number from 0 to ${most}`)
    attributes[name] = value
  }
  return attributes
}

export const toLinkFault = ({ type, attributes }: Toxic): LinkFault =>
  makeLinkFault(type, ({ toxic, scale = 1, least = 0 }) => Math.max(least, (attributes[toxic] ?? 0) * scale))

type LinkProxy = Pick<NamedProxy, 'name' | 'from' | 'to' | 'fromNode' | 'toNode'>

/**
 * Formats the number of faults of each link as Prometheus metrics, without hidden faults. The label of a link is the
 * pair of its clusters or nodes. The label of a proxy that a client has added is the name of the proxy.
 */
export const linkMetrics = (proxies: readonly LinkProxy[], active: readonly ActiveFault[]): string => {
  const faults = active.filter(isOfLink).filter(isShown)
  const met = new Map<string, Set<number>>()
  for (const proxy of proxies) {
    const link = proxy.from === '' ? proxy.name : pairOf(proxy)
    const ids = met.get(link) ?? new Set()
    for (const fault of faults)
      if (affectsDirection(fault, proxy, 'up') || affectsDirection(fault, proxy, 'down')) ids.add(fault.id)
    met.set(link, ids)
  }
  const rows = [...met].sort(([one], [other]) => (one < other ? -1 : 1))
  return [
    '# HELP understudy_link_faults_active Faults that are set on a link of the lab.',
    '# TYPE understudy_link_faults_active gauge',
    ...rows.map(([link, ids]) => `understudy_link_faults_active{link="${labelOf(link)}"} ${ids.size}`),
    '',
  ].join('\n')
}

const labelOf = (label: string): string => label.replace(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`))
