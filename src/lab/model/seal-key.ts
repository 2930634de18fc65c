import type { Random } from '../../base/random.js'

const BYTES = 32

/** A key of a seal that opens itself, for AES-256-GCM. Servers read it as hex or base64. */
export const newSealKey = (random: Random): Buffer => random.bytes(BYTES)
