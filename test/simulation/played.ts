import { inspect } from 'node:util'
import type { Outcome } from './simulate.js'

/** What came of a seed, as one process tells it another. */
export interface Played extends Pick<Outcome, 'seed' | 'hash' | 'events' | 'virtualMs'> {
  /** Undefined where every promise has held; `text` has all that is known of it. */
  readonly failure: { readonly message: string; readonly text: string } | undefined
}

export const playedOf = ({ seed, hash, events, virtualMs, failure }: Outcome): Played => ({
  seed,
  hash,
  events,
  virtualMs,
  failure: failure && { message: failure.message, text: inspect(failure) },
})
