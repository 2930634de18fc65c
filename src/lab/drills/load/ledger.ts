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

/** The results of client requests, in the order of completion. */
export class Ledger {
  readonly attempts: Attempt[] = []

  add(attempt: Attempt): void {
    this.attempts.push(attempt)
  }

  get writes(): readonly Attempt[] {
    return this.attempts.filter(({ action }) => action === 'write')
  }

  get acknowledged(): readonly (Attempt & { readonly key: string })[] {
    return this.attempts.filter(
      (attempt): attempt is Attempt & { readonly key: string } => attempt.isAccepted && attempt.key !== undefined,
    )
  }

  get refusals(): readonly Attempt[] {
    return this.attempts.filter(({ isAccepted }) => !isAccepted)
  }
}
