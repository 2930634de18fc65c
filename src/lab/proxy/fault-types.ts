import { LabError } from '../lab-error.js'

/**
 * Faults of a link. The names are toxiproxy's, so that whoever has used it knows them; `partition` and `hold`
 * are verbs of ours.
 */

/**
 * One way of a link: `up` carries what the dialling side sends, `down` what it receives.
 *
 * @example
 * import { type Direction, startLab } from 'understudy-lab'
 *
 * const directions: readonly Direction[] = ['up', 'down']
 * await using lab = await startLab('pr')
 * for (const direction of directions) lab.link('A', 'C').setFault('latency', { ms: 40 }, direction)
 */
export type Direction = 'up' | 'down'

/**
 * One way of a link, or both.
 *
 * @example
 * import { startLab, type Way } from 'understudy-lab'
 *
 * const way: Way = 'both'
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').hold(way)
 * lab.link('A', 'C').release(way)
 */
export type Way = Direction | 'both'

const DIRECTIONS: readonly Direction[] = ['up', 'down']

/** Throws LabError `usage` for none of them: JavaScript has no compiler to say it. */
export const directionsOf = (way: Way): readonly Direction[] => {
  if (way === 'both') return DIRECTIONS
  if (DIRECTIONS.includes(way)) return [way]
  throw new LabError('usage', `a way of a link is ${DIRECTIONS.join(', ')} or both, not "${String(way)}"`)
}

/** A fault of some connections: each draws a lot when it begins, from 0 to 1, and those below are met. Absent: all. */
type Toxic<Fault> = Readonly<Fault> & { readonly toxicity?: number }

/**
 * Faults of one direction. An absent one is off. Times are milliseconds, sizes bytes; `toxicity` is the share of
 * connections that a fault meets, from 0 to 1, and all of them when it is absent.
 *
 * @example
 * import { type Faults, startLab } from 'understudy-lab'
 *
 * const narrow: NonNullable<Faults['bandwidth']> = { bytesPerSecond: 64_000, toxicity: 0.5 }
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').setFault('bandwidth', narrow)
 */
export interface Faults {
  /** Every chunk arrives this much later, give or take the jitter; order is kept. */
  readonly latency?: Toxic<{ ms: number; jitterMs?: number }>
  readonly bandwidth?: Toxic<{ bytesPerSecond: number }>
  /** Nothing passes; the connection is closed after so long. 0: never. */
  readonly timeout?: Toxic<{ ms: number }>
  /** Both sides of a connection are reset so long after its first chunk. */
  readonly reset_peer?: Toxic<{ ms: number }>
  /** The connection is closed after so many bytes of this direction. */
  readonly limit_data?: Toxic<{ bytes: number }>
  /** Data is cut into chunks of about this size, with a pause between them. */
  readonly slicer?: Toxic<{ averageBytes: number; variationBytes?: number; delayMs?: number }>
  /** The end of a connection passes so much later. */
  readonly slow_close?: Toxic<{ ms: number }>
}

/** Whether a lot is needed to tell whom these faults meet. */
export const arePartial = (faults: Faults): boolean =>
  Object.values(faults as Record<string, { toxicity?: number }>).some(({ toxicity }) => toxicity !== undefined)

/** The faults that meet the connection with this lot. */
export const faultsFor = (faults: Faults, lot: number): Faults =>
  Object.fromEntries(
    Object.entries(faults as Record<string, { toxicity?: number }>).filter(([, { toxicity = 1 }]) => lot < toxicity),
  )

/**
 * The name of a fault of a link, which is toxiproxy's.
 *
 * @example
 * import { type FaultName, startLab } from 'understudy-lab'
 *
 * const name: FaultName = 'reset_peer'
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').setFault(name, { ms: 1_000 })
 */
export type FaultName = keyof Faults

/**
 * How a direction treats traffic. `held`: bytes wait, a reset passes. `partitioned`: neither bytes nor the end of a
 * connection pass, as when the cable is cut; what TCP would send again arrives after healing.
 */
export type Passage = 'open' | 'held' | 'partitioned'
