import type { ClientKind } from '../result.js'

/** One request of a client of the load. */
export interface Attempt {
  readonly client: string
  readonly kind: ClientKind
  readonly action: 'write' | 'read'
  readonly cluster: string
  /** Since the drill began. */
  readonly sentMs: number
  readonly endedMs: number
  readonly isAccepted: boolean
  /** Status and text of a refusal, or why there was no answer; empty when it was accepted. */
  readonly reason: string
  /** The key of a write. */
  readonly key?: string
}

/** The answers that clients got, in the order in which they came. */
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
