import { isSameSecret } from '../crypto/constant-time.js'

/** Collects the key shares of one operation, such as an unseal. Overwrites the shares with zeros when it drops them. */
export class ShareCollector {
  #shares: Buffer[] = []

  get progress(): number {
    return this.#shares.length
  }

  /** Adds a share unless the collector already has it. */
  offer(share: Buffer): 'added' | 'duplicate' {
    if (this.#shares.some((known) => isSameSecret(known, share))) return 'duplicate'
    this.#shares.push(Buffer.from(share))
    return 'added'
  }

  /**
   * Passes all shares to `use`, and then drops them even if `use` fails. `progress` is 0 as soon as `use` is called.
   */
  async spend<T>(use: (shares: readonly Buffer[]) => Promise<T>): Promise<T> {
    const shares = this.#shares
    this.#shares = []
    try {
      return await use(shares)
    } finally {
      for (const share of shares) share.fill(0)
    }
  }

  clear(): void {
    for (const share of this.#shares) share.fill(0)
    this.#shares = []
  }
}
