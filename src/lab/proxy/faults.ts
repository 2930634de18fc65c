/**
 * What can be wrong with a link. The names are toxiproxy's, so that whoever has used it knows them; `partition` and `hold`
 * are verbs of ours.
 */

/** `up` carries what the dialling side sends, `down` what it receives. */
export type Direction = 'up' | 'down'

export type Way = Direction | 'both'

const DIRECTIONS: readonly Direction[] = ['up', 'down']

export const directionsOf = (way: Way): readonly Direction[] => (way === 'both' ? DIRECTIONS : [way])

/** Faults of one direction. An absent one is off. */
export interface Faults {
  /** Every piece arrives this much later, give or take the jitter; order is kept. */
  readonly latency?: { readonly ms: number; readonly jitterMs?: number }
  readonly bandwidth?: { readonly bytesPerSecond: number }
  /** Nothing passes; the connection is closed after so long. 0: never. */
  readonly timeout?: { readonly ms: number }
  /** Both sides of a connection are reset so long after its first piece. */
  readonly reset_peer?: { readonly ms: number }
  /** The connection is closed after so many bytes of this direction. */
  readonly limit_data?: { readonly bytes: number }
  /** What passes is cut into pieces of about this size, with a pause between them. */
  readonly slicer?: { readonly averageBytes: number; readonly variationBytes?: number; readonly delayMs?: number }
  /** The end of a connection passes so much later. */
  readonly slow_close?: { readonly ms: number }
}

export type FaultName = keyof Faults

/**
 * How a direction treats traffic. `held`: bytes wait, a reset passes. `partitioned`: neither bytes nor the end of a
 * connection pass, as when the cable is cut; what TCP would send again arrives after healing.
 */
export type Passage = 'open' | 'held' | 'partitioned'
