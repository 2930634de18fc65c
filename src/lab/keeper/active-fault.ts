import type { Direction, Faults, Passage } from '../proxy/faults.js'

/** What is set on the link of two clusters, until it is healed or its time is over. */
export interface ActiveFault {
  /** Small and counted, for people to name it. */
  readonly id: number
  readonly between: readonly [string, string]
  /** Only what the first of the two sends is met. */
  readonly isOneWay: boolean
  readonly fault: LinkFault
  /** Milliseconds since the epoch; undefined: until it is healed. */
  readonly untilMs?: number | undefined
}

/** Toxiproxy's names, and the verbs `partition` and `hold`. Times in milliseconds. */
export type LinkFault =
  | { readonly name: 'partition' }
  | { readonly name: 'hold' }
  | { readonly name: 'down' }
  | { readonly name: 'latency'; readonly ms: number; readonly jitterMs?: number }
  | { readonly name: 'bandwidth'; readonly bytesPerSecond: number }
  | { readonly name: 'timeout'; readonly ms: number }
  | { readonly name: 'reset_peer'; readonly ms: number }
  | { readonly name: 'limit_data'; readonly bytes: number }

export type LinkFaultName = LinkFault['name']

/** What one direction of one proxy is to do under all faults that meet it. */
export interface LaneState {
  readonly passage: Passage
  readonly faults: Faults
}

/** Whether a fault meets what flows in this direction of the proxy through which `from` dials `to`. */
const meets = (
  { between: [one, other], isOneWay }: ActiveFault,
  from: string,
  to: string,
  direction: Direction,
): boolean => {
  const [sender, receiver] = direction === 'up' ? [from, to] : [to, from]
  if (sender === one && receiver === other) return true
  return !isOneWay && sender === other && receiver === one
}

/** Of two of one name the newer one counts. A cut wins over bytes that wait. */
export const laneState = (
  active: readonly ActiveFault[],
  from: string,
  to: string,
  direction: Direction,
): LaneState => {
  const met = active.filter((one) => meets(one, from, to, direction)).map(({ fault }) => fault)
  const isPartitioned = met.some(({ name }) => name === 'partition')
  const isHeld = met.some(({ name }) => name === 'hold')
  const faults = Object.assign({}, ...met.map(toFaults)) as Faults
  return { passage: isPartitioned ? 'partitioned' : isHeld ? 'held' : 'open', faults }
}

/** Whether the proxy through which `from` dials `to` is to listen at all. */
export const isDown = (active: readonly ActiveFault[], from: string, to: string): boolean =>
  active.some((one) => one.fault.name === 'down' && meets(one, from, to, 'up'))

const toFaults = (fault: LinkFault): Faults => {
  switch (fault.name) {
    case 'partition':
    case 'hold':
    case 'down':
      return {}
    case 'latency': {
      const { ms, jitterMs } = fault
      return { latency: jitterMs === undefined ? { ms } : { ms, jitterMs } }
    }
    case 'bandwidth':
      return { bandwidth: { bytesPerSecond: fault.bytesPerSecond } }
    case 'timeout':
      return { timeout: { ms: fault.ms } }
    case 'reset_peer':
      return { reset_peer: { ms: fault.ms } }
    case 'limit_data':
      return { limit_data: { bytes: fault.bytes } }
  }
}

/** `latency 80 ms, give or take 20 ms`. */
export const describeFault = (fault: LinkFault): string => {
  switch (fault.name) {
    case 'partition':
    case 'hold':
    case 'down':
      return fault.name
    case 'latency':
      return `latency ${fault.ms} ms${fault.jitterMs ? `, give or take ${fault.jitterMs} ms` : ''}`
    case 'bandwidth':
      return `bandwidth ${fault.bytesPerSecond} bytes/s`
    case 'timeout':
      return fault.ms === 0 ? 'timeout without end' : `timeout after ${fault.ms} ms`
    case 'reset_peer':
      return `reset_peer after ${fault.ms} ms`
    case 'limit_data':
      return `limit_data ${fault.bytes} bytes`
  }
}

/** `A <-> C`, or `A -> C` when only what A sends is met. */
export const describeLink = ({ between: [one, other], isOneWay }: Pick<ActiveFault, 'between' | 'isOneWay'>): string =>
  `${one} ${isOneWay ? '->' : '<->'} ${other}`
