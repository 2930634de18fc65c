import { inspect } from 'node:util'
import type { Outcome } from './simulate.js'

/** The result of a seed, as one process sends it to another. */
export interface SeedResult extends Pick<Outcome, 'seed' | 'hash' | 'events' | 'virtualMs'> {
  /** Undefined if every promise held. `text` contains all known details. */
  readonly failure: { readonly message: string; readonly text: string } | undefined
}

export const resultOf = ({ seed, hash, events, virtualMs, failure }: Outcome): SeedResult => ({
  seed,
  hash,
  events,
  virtualMs,
  failure: failure && { message: failure.message, text: inspect(failure) },
})
