/** Auto-unseal with a transit key of another cluster, which wraps and unwraps the root key. */
import type { AutoSeal } from './auto-seal.js'

/** What the other cluster does for the seal. Rejects when it cannot be asked, or refuses. */
export interface TransitKey {
  /** A text that `decrypt` takes. Both plaintexts are base64. */
  encrypt(plaintext: string): Promise<string>
  decrypt(ciphertext: string): Promise<string>
}

/** What stands before the ciphertext as it is stored, so that it is not taken for what another seal has wrapped. */
const MARK = 'transit:'

export const createTransitSeal = (key: TransitKey): AutoSeal => ({
  type: 'transit',
  async wrap(rootKey) {
    return Buffer.from(MARK + (await key.encrypt(rootKey.toString('base64'))))
  },
  async unwrap(wrapped) {
    const text = wrapped.toString('utf8')
    if (!text.startsWith(MARK)) return undefined
    // The key's own versions are the other cluster's affair: what it decrypts need not be wrapped anew.
    return { key: Buffer.from(await key.decrypt(text.slice(MARK.length)), 'base64'), isCurrent: true }
  },
})
