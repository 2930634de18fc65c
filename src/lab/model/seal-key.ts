import type { Random } from '../../base/random.js'

const BYTES = 32

/** Returns a new auto-unseal key for AES-256-GCM. Servers read it as hex or base64. */
export const newSealKey = (random: Random): Buffer => random.bytes(BYTES)
