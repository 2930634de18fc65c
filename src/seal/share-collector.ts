import { isSameSecret } from '../crypto/constant-time.js'

/**
 * The shares that have come in so far for one purpose. It knows nothing about what they are for; it wipes what it
 * lets go of.
 */
export class ShareCollector {
  #shares: Buffer[] = []

  get progress(): number {
    return this.#shares.length
  }

  /** Takes a share in, unless the same one is here already. */
  offer(share: Buffer): 'added' | 'duplicate' {
    if (this.#shares.some((known) => isSameSecret(known, share))) return 'duplicate'
    this.#shares.push(Buffer.from(share))
    return 'added'
  }

  /** Hands all shares to `use`, then forgets them, whatever comes of it. Progress is 0 again from the first moment. */
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
