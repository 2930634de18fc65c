import { counted } from '../../base/counted.js'

/** A fault that can be limited to a fraction of the connections. Without `toxicity`, it affects all connections. */
type Toxic<Fault> = Readonly<Fault> & { readonly toxicity?: number }

/**
 * Faults of one direction. An absent fault is off. Times are in milliseconds, sizes in bytes. `toxicity` is the
 * fraction of affected connections, from 0 to 1. Default: all connections.
 *
 * @example
 * import { type Faults, startLab } from 'understudy-lab'
 *
 * const narrow: NonNullable<Faults['bandwidth']> = { bytesPerSecond: 64_000, toxicity: 0.5 }
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').setFault('bandwidth', narrow)
 */
export interface Faults {
  /** Delays each chunk by this time plus or minus the jitter. Keeps the order. */
  readonly latency?: Toxic<{ ms: number; jitterMs?: number }>
  readonly bandwidth?: Toxic<{ bytesPerSecond: number }>
  /** Drops all data, and closes the connection after this time. 0: never. */
  readonly timeout?: Toxic<{ ms: number }>
  /** Resets both sides of a connection this long after its first chunk. */
  readonly reset_peer?: Toxic<{ ms: number }>
  /** Closes the connection after this number of bytes in this direction. */
  readonly limit_data?: Toxic<{ bytes: number }>
  /** Splits data into chunks of about this size, with a pause between them. */
  readonly slicer?: Toxic<{ averageBytes: number; variationBytes?: number; delayMs?: number }>
  /** Delays the close of a connection. */
  readonly slow_close?: Toxic<{ ms: number }>
}

/** Returns true if a fault has a toxicity, so that each connection needs a random number. */
export const arePartial = (faults: Faults): boolean =>
  Object.values(faults as Record<string, { toxicity?: number }>).some(({ toxicity }) => toxicity !== undefined)

/** Returns the faults that affect a connection. `fraction`: the random number of the connection, from 0 to 1. */
export const faultsFor = (faults: Faults, fraction: number): Faults =>
  Object.fromEntries(
    Object.entries(faults as Record<string, { toxicity?: number }>).filter(
      ([, { toxicity = 1 }]) => fraction < toxicity,
    ),
  )

/**
 * The name of a link fault, as in Toxiproxy.
 *
 * @example
 * import { type FaultName, startLab } from 'understudy-lab'
 *
 * const name: FaultName = 'reset_peer'
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').setFault(name, { ms: 1_000 })
 */
export type FaultName = keyof Faults

type Numbers<N extends FaultName> = Omit<NonNullable<Faults[N]>, 'toxicity'>

/**
 * A link fault with its numbers, such as `{ name: 'latency', ms: 80 }`. Toxiproxy has no `partition`, `hold` and
 * `down`.
 */
export type LinkFault =
  | { readonly name: 'partition' | 'hold' | 'down' }
  | { [N in FaultName]: { readonly name: N } & Numbers<N> }[FaultName]

export type LinkFaultName = LinkFault['name']

type FaultNumbers = Readonly<Record<string, number | undefined>>

/** A numeric parameter of a fault. */
interface FaultField {
  readonly name: string
  readonly unit: 'ms' | 'bytes' | 'bytes/s'
  /** Minimum. Default: 0. */
  readonly least?: number
  readonly isOptional?: true
  /** The command line accepts a time of 0. It rejects 0 for other times, because such a fault has no effect. */
  readonly isZeroAllowed?: true
  /** Key in a drill step, and placeholder on the command line. */
  readonly key: 'delay' | 'jitter' | 'after' | 'bytes' | 'bytes-per-second' | 'variation'
  /** Description for help texts. */
  readonly about: string
  /** Attribute of the toxic. */
  readonly toxic: string
  /** The factor from `unit` to Toxiproxy's unit. Default: 1. */
  readonly scale?: number
}

interface LinkFaultRow {
  readonly about: string
  /** Example for the first field on the command line. */
  readonly example?: string
  /** On the command line, the first field is an argument and the others are options. */
  readonly fields: readonly FaultField[]
  readonly describe?: (numbers: FaultNumbers) => string
}

/** Parameters and descriptions of each fault. `apply-faults.ts` implements them. */
export const LINK_FAULTS: Readonly<Record<LinkFaultName, LinkFaultRow>> = {
  partition: { about: 'block all traffic, including the close of connections', fields: [] },
  hold: { about: 'hold all traffic until the fault is removed', fields: [] },
  down: { about: 'refuse new connections and reset existing ones', fields: [] },
  latency: {
    about: 'delay all traffic',
    example: '80ms',
    fields: [
      { name: 'ms', unit: 'ms', key: 'delay', about: 'delay', toxic: 'latency' },
      { name: 'jitterMs', unit: 'ms', isOptional: true, key: 'jitter', about: 'maximum deviation', toxic: 'jitter' },
    ],
    describe: ({ ms, jitterMs }) => `${ms} ms${jitterMs ? ` ± ${jitterMs} ms` : ''}`,
  },
  bandwidth: {
    about: 'limit the transfer rate',
    example: '256kB/s',
    fields: [
      {
        name: 'bytesPerSecond',
        unit: 'bytes/s',
        // At this rate, about one byte per day, no data passes, as with the rate 0 of Toxiproxy.
        least: 1e-5,
        key: 'bytes-per-second',
        about: 'maximum rate',
        toxic: 'rate',
        scale: 1000,
      },
    ],
    describe: ({ bytesPerSecond }) => `${bytesPerSecond} bytes/s`,
  },
  timeout: {
    about: 'block all traffic and close connections after a time',
    example: '5s',
    fields: [
      {
        name: 'ms',
        unit: 'ms',
        isZeroAllowed: true,
        key: 'after',
        about: 'time until connections are closed; 0s: never',
        toxic: 'timeout',
      },
    ],
    describe: ({ ms }) => (ms === 0 ? 'never closes' : `after ${ms} ms`),
  },
  reset_peer: {
    about: 'reset each connection after a time',
    example: '1s',
    fields: [
      {
        name: 'ms',
        unit: 'ms',
        isZeroAllowed: true,
        key: 'after',
        about: 'time from the first bytes of a connection to its reset',
        toxic: 'timeout',
      },
    ],
    describe: ({ ms }) => `after ${ms} ms`,
  },
  limit_data: {
    about: 'close connections after a number of bytes',
    example: '64kB',
    fields: [{ name: 'bytes', unit: 'bytes', key: 'bytes', about: 'number of bytes', toxic: 'bytes' }],
    describe: ({ bytes = 0 }) => counted(bytes, 'byte'),
  },
  slicer: {
    about: 'split traffic into small pieces',
    example: '64B',
    fields: [
      {
        name: 'averageBytes',
        unit: 'bytes',
        least: 1,
        key: 'bytes',
        about: 'average size of a piece',
        toxic: 'average_size',
      },
      {
        name: 'variationBytes',
        unit: 'bytes',
        isOptional: true,
        key: 'variation',
        about: 'maximum deviation',
        toxic: 'size_variation',
      },
      {
        name: 'delayMs',
        unit: 'ms',
        isOptional: true,
        isZeroAllowed: true,
        key: 'delay',
        about: 'pause between two pieces',
        toxic: 'delay',
        scale: 1 / 1000,
      },
    ],
    describe: ({ averageBytes, variationBytes, delayMs }) =>
      `${averageBytes} bytes${variationBytes ? ` ± ${variationBytes} bytes` : ''}${delayMs ? `, ${delayMs} ms apart` : ''}`,
  },
  slow_close: {
    about: 'delay the close of connections',
    example: '2s',
    fields: [{ name: 'ms', unit: 'ms', key: 'after', about: 'delay', toxic: 'delay' }],
    describe: ({ ms }) => `after ${ms} ms`,
  },
}

/** The faults with numbers, which Toxiproxy supports too. */
export const TOXIC_NAMES = (Object.keys(LINK_FAULTS) as LinkFaultName[]).filter(
  (name): name is FaultName => LINK_FAULTS[name].fields.length > 0,
)

/** Returns a fault with the number that `read` returns for each of its fields. Undefined omits the field. */
export const makeLinkFault = (name: LinkFaultName, read: (field: FaultField) => number | undefined): LinkFault => {
  const numbers = LINK_FAULTS[name].fields.map((field) => [field.name, read(field)] as const)
  return { name, ...Object.fromEntries(numbers.filter(([, value]) => value !== undefined)) } as LinkFault
}

/** Returns the numbers of a fault by the names of its fields. */
export const numbersOf = ({ name: _, ...numbers }: LinkFault): FaultNumbers => numbers

/** Describes a fault, for example `latency 80 ms ± 20 ms`. */
export const describeLinkFault = (fault: LinkFault): string =>
  [fault.name, LINK_FAULTS[fault.name].describe?.(numbersOf(fault))].filter(Boolean).join(' ')

/** Maximum delay of a timer in Node, in milliseconds. */
const DELAY_MS_MAX = 2 ** 31 - 1
const BYTES_MAX = 2 ** 40

export const boundsOf = ({ unit, least = 0 }: FaultField): readonly [number, number] => [
  least,
  unit === 'ms' ? DELAY_MS_MAX : BYTES_MAX,
]
