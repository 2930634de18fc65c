import type { LinkFault, LinkFaultName } from '../../../lab/keeper/active-fault.js'
import { bytes, milliseconds } from './quantities.js'

export interface LinkFaultFlags {
  readonly jitter?: string
  readonly variation?: string
  readonly delay?: string
}

export interface LinkFaultKind {
  readonly about: string
  /** Placeholder of the argument behind the two clusters. */
  readonly argument?: string
  /** A value for it. */
  readonly example?: string
  /** Flags of its own, and what they are for. */
  readonly flags?: readonly (readonly [string, string])[]
  readonly make: (value: string, flags: LinkFaultFlags) => LinkFault
}

/** The faults of links, under toxiproxy's names where it has one. */
export const LINK_FAULTS: Readonly<Record<LinkFaultName, LinkFaultKind>> = {
  partition: {
    about: 'cut the cable: nothing passes, not even the end of a connection',
    make: () => ({ name: 'partition' }),
  },
  hold: { about: 'let bytes wait until it is healed', make: () => ({ name: 'hold' }) },
  down: { about: 'refuse connections and reset those there are', make: () => ({ name: 'down' }) },
  latency: {
    about: 'delay everything, such as 80ms (--jitter 20ms)',
    argument: 'delay',
    example: '80ms',
    flags: [['--jitter <duration>', 'give or take so much']],
    make: (value, { jitter }) => ({
      name: 'latency',
      ms: milliseconds(value),
      ...(jitter === undefined ? {} : { jitterMs: milliseconds(jitter) }),
    }),
  },
  bandwidth: {
    about: 'let so much pass, such as 256kB/s',
    argument: 'rate',
    example: '256kB/s',
    make: (value) => ({ name: 'bandwidth', bytesPerSecond: bytes(value.replace(/\/s$/, '')) }),
  },
  timeout: {
    about: 'let nothing pass and close connections after a time; 0 never closes',
    argument: 'time',
    example: '5s',
    make: (value) => ({ name: 'timeout', ms: milliseconds(value, 0) }),
  },
  reset_peer: {
    about: 'reset connections a time after their first bytes',
    argument: 'time',
    example: '1s',
    make: (value) => ({ name: 'reset_peer', ms: milliseconds(value, 0) }),
  },
  limit_data: {
    about: 'close connections after so many bytes, such as 64kB',
    argument: 'bytes',
    example: '64kB',
    make: (value) => ({ name: 'limit_data', bytes: bytes(value) }),
  },
  slicer: {
    about: 'cut what passes into pieces of about so many bytes (--delay 1ms between them)',
    argument: 'bytes',
    example: '64B',
    flags: [
      ['--variation <bytes>', 'give or take so much'],
      ['--delay <duration>', 'the pause between two pieces'],
    ],
    make: (value, { variation, delay }) => ({
      name: 'slicer',
      averageBytes: bytes(value),
      ...(variation === undefined ? {} : { variationBytes: bytes(variation) }),
      ...(delay === undefined ? {} : { delayMs: milliseconds(delay, 0) }),
    }),
  },
  slow_close: {
    about: 'let the end of a connection pass a time later',
    argument: 'time',
    example: '2s',
    make: (value) => ({ name: 'slow_close', ms: milliseconds(value) }),
  },
}
