import type { ClientKind } from '../context/result.js'

/** One request of a load client. */
export interface Attempt {
  readonly client: string
  readonly kind: ClientKind
  readonly action: 'write' | 'read'
  readonly cluster: string
  /** Milliseconds since the start of the drill. */
  readonly sentMs: number
  readonly endedMs: number
  readonly isAccepted: boolean
  /** Status and text of the rejection, or the reason for the missing response. Empty if accepted. */
  readonly reason: string
  /** The key that the request writes. */
  readonly key?: string
}

/** A write to a key that a cluster acknowledged. */
export type Write = Attempt & { readonly key: string }

const isAcknowledged = (attempt: Attempt): attempt is Write => attempt.isAccepted && attempt.key !== undefined

/** The results of client requests, in the order of completion. */
export class Ledger {
  readonly attempts: Attempt[] = []

  get acknowledged(): readonly Write[] {
    return this.attempts.filter(isAcknowledged)
  }

  get refusals(): readonly Attempt[] {
    return this.attempts.filter(({ isAccepted }) => !isAccepted)
  }
}
