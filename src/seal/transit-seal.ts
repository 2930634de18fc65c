/** Auto-unseal with a transit key of another cluster, which wraps and unwraps the root key. */
import type { AutoSeal } from './auto-seal.js'

/** The calls to the other cluster. They reject if it is unreachable or refuses. */
export interface TransitKey {
  /** Returns a text that `decrypt` accepts. Both plaintexts are base64. */
  encrypt(plaintext: string): Promise<string>
  decrypt(ciphertext: string): Promise<string>
}

/** Prefix of the stored ciphertext, which distinguishes it from keys that another seal wrapped. */
const MARK = 'transit:'

export const createTransitSeal = (key: TransitKey): AutoSeal => ({
  type: 'transit',
  async wrap(rootKey) {
    return Buffer.from(MARK + (await key.encrypt(rootKey.toString('base64'))))
  },
  async unwrap(wrapped) {
    const text = wrapped.toString('utf8')
    if (!text.startsWith(MARK)) return undefined
    // The other cluster manages the key's versions: a key that it decrypts need not be wrapped again.
    return { key: Buffer.from(await key.decrypt(text.slice(MARK.length)), 'base64'), isCurrent: true }
  },
})
