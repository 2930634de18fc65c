import type { Random } from './random.js'

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Returns `length` random letters and digits, uniformly distributed. */
export const base62 = (random: Random, length: number): string => {
  let out = ''
  while (out.length < length) {
    for (const byte of random.bytes(length - out.length + 4)) {
      // Skips bytes from 248 (4 * 62), which would make some characters more likely.
      if (byte < 248 && out.length < length) out += BASE62[byte % 62]
    }
  }
  return out
}

/** Returns 16 random bytes in the form 8-4-4-4-12, without the version bits of RFC 4122, as in Vault. */
export const uuid = (random: Random): string => {
  const hex = random.bytes(16).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Returns true for word characters with dots and dashes between them: the generic names of Vault. */
export const isGenericName = (text: string): boolean => /^\w(?:[\w.-]*\w)?$/.test(text)
