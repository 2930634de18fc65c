import type { Direction } from '../../proxy/fault-types.js'
import type { ActiveLinkFault, LinkFault, LinkFaultName } from '../active-fault.js'
import { DELAY_MS_MAX } from '../parse-fault.js'
import { ToxiproxyError } from './toxiproxy-error.js'

/** A toxic as toxiproxy 2 shows it. Times in milliseconds but for a slicer's delay, in microseconds; rates in kB/s. */
export interface Toxic {
  readonly name: string
  readonly type: string
  readonly stream: 'upstream' | 'downstream'
  readonly toxicity: number
  readonly attributes: Readonly<Record<string, number>>
}

interface ToxicType {
  /** Attributes and what they are where a client leaves them out. */
  readonly defaults: Readonly<Record<string, number>>
  readonly make: (attributes: Readonly<Record<string, number>>) => LinkFault
}

/** Milliseconds, kB/s or bytes: no timer waits longer. */
const MOST = DELAY_MS_MAX

const take = (attributes: Readonly<Record<string, number>>, name: string): number => attributes[name] ?? 0

const TYPES: Readonly<Partial<Record<LinkFaultName, ToxicType>>> = {
  latency: {
    defaults: { latency: 0, jitter: 0 },
    make: (given) => ({ name: 'latency', ms: take(given, 'latency'), jitterMs: take(given, 'jitter') }),
  },
  bandwidth: {
    defaults: { rate: 0 },
    // A rate of 0 lets nothing pass; one byte a day does not either.
    make: (given) => ({ name: 'bandwidth', bytesPerSecond: Math.max(take(given, 'rate') * 1000, 1e-5) }),
  },
  slow_close: { defaults: { delay: 0 }, make: (given) => ({ name: 'slow_close', ms: take(given, 'delay') }) },
  timeout: { defaults: { timeout: 0 }, make: (given) => ({ name: 'timeout', ms: take(given, 'timeout') }) },
  reset_peer: { defaults: { timeout: 0 }, make: (given) => ({ name: 'reset_peer', ms: take(given, 'timeout') }) },
  slicer: {
    defaults: { average_size: 0, size_variation: 0, delay: 0 },
    make: (given) => ({
      name: 'slicer',
      averageBytes: Math.max(1, take(given, 'average_size')),
      variationBytes: take(given, 'size_variation'),
      delayMs: take(given, 'delay') / 1000,
    }),
  },
  limit_data: { defaults: { bytes: 0 }, make: (given) => ({ name: 'limit_data', bytes: take(given, 'bytes') }) },
}

const attributesOf = (fault: LinkFault): Record<string, number> | undefined => {
  switch (fault.name) {
    case 'latency':
      return { latency: fault.ms, jitter: fault.jitterMs ?? 0 }
    case 'bandwidth':
      return { rate: Math.round(fault.bytesPerSecond / 1000) }
    case 'slow_close':
      return { delay: fault.ms }
    case 'timeout':
    case 'reset_peer':
      return { timeout: fault.ms }
    case 'slicer':
      return {
        average_size: fault.averageBytes,
        size_variation: fault.variationBytes ?? 0,
        delay: Math.round((fault.delayMs ?? 0) * 1000),
      }
    case 'limit_data':
      return { bytes: fault.bytes }
    case 'partition':
    case 'hold':
    case 'down':
      return undefined
  }
}

/** Undefined for what toxiproxy has no name for. One that was set for a whole link is named by its number. */
export const toToxic = ({ id, fault, at }: ActiveLinkFault, direction: Direction): Toxic | undefined => {
  const attributes = attributesOf(fault)
  const stream = direction === 'up' ? 'upstream' : 'downstream'
  return (
    attributes && {
      attributes,
      name: at?.toxic ?? `fault_${id}_${stream}`,
      type: fault.name,
      stream,
      toxicity: at?.toxicity ?? 1,
    }
  )
}

/** A toxic as a client sends it, with what it leaves out as toxiproxy has it; `known` is the one it changes. */
export const parseToxic = (value: Readonly<Record<string, unknown>>, known?: Toxic): Toxic => {
  const type = known?.type ?? value.type
  const found = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type as LinkFaultName] : undefined
  if (!found) throw new ToxiproxyError(400, 'invalid toxic type')
  const stream = known?.stream ?? (value.stream || 'downstream')
  if (stream !== 'upstream' && stream !== 'downstream')
    throw new ToxiproxyError(400, 'stream was invalid, can be either upstream or downstream')
  const toxicity = value.toxicity ?? known?.toxicity ?? 1
  if (typeof toxicity !== 'number' || !(toxicity >= 0 && toxicity <= 1))
    throw new ToxiproxyError(400, 'bad request body: toxicity is a number from 0 to 1')
  const attributes = parseAttributes(value.attributes, known?.attributes ?? found.defaults)
  const name = known?.name ?? (typeof value.name === 'string' && value.name !== '' ? value.name : `${type}_${stream}`)
  return { name, type: String(type), stream, toxicity, attributes }
}

const parseAttributes = (given: unknown, known: Readonly<Record<string, number>>): Readonly<Record<string, number>> => {
  if (given === undefined || given === null) return known
  if (typeof given !== 'object') throw new ToxiproxyError(400, 'bad request body: attributes is an object')
  const attributes = { ...known }
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(known, name)) continue
    if (typeof value !== 'number' || !(value >= 0 && value <= MOST))
      throw new ToxiproxyError(400, `bad request body: ${name} is a number from 0 to ${MOST}`)
    attributes[name] = value
  }
  return attributes
}

export const toLinkFault = ({ type, attributes }: Toxic): LinkFault => {
  const found = TYPES[type as LinkFaultName]
  if (!found) throw new ToxiproxyError(400, 'invalid toxic type')
  return found.make(attributes)
}
