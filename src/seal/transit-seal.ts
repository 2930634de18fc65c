/** Auto-unseal with a transit key of another cluster. The other cluster wraps and unwraps the root key. */
import type { AutoSeal } from './auto-seal.js'

/** The calls to the other cluster. They reject if the cluster is unreachable or rejects the request. */
export interface TransitKey {
  /** Encrypts a plaintext, which is base64. Returns a ciphertext that `decrypt` accepts. */
  encrypt(plaintext: string): Promise<string>
  decrypt(ciphertext: string): Promise<string>
}

/** Prefix of the stored ciphertext. It distinguishes the ciphertext from values that another seal wrapped. */
const MARK = 'transit:'

export const createTransitSeal = (key: TransitKey): AutoSeal => ({
  type: 'transit',
  async wrap(rootKey) {
    return Buffer.from(MARK + (await key.encrypt(rootKey.toString('base64'))))
  },
  async unwrap(wrapped) {
    const text = wrapped.toString('utf8')
    if (!text.startsWith(MARK)) return undefined
    // The other cluster manages the versions of the transit key, so the server never has to wrap the root key again.
    return { key: Buffer.from(await key.decrypt(text.slice(MARK.length)), 'base64'), isCurrent: true }
  },
})
