import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { lowerNames } from '../../logical/token-fields.js'
import type { Texts } from '../../logical/identity.js'

/** Checks the limits on metadata of an entity or an alias. Throws 400. */
export const cleanTexts = (texts: Texts | null): Texts => {
  const entries = Object.entries(texts ?? {})
  const { identityTextsMax, identityTextNameBytesMax, identityTextBytesMax } = LIMITS
  if (entries.length > identityTextsMax) {
    throw invalid(`metadata may have at most ${identityTextsMax} keys, and has ${entries.length}`)
  }
  for (const [name, text] of entries) {
    if (name === '' || Buffer.byteLength(name) > identityTextNameBytesMax) {
      throw invalid(`a key of metadata must have 1 to ${identityTextNameBytesMax} bytes`)
    }
    if (Buffer.byteLength(text) > identityTextBytesMax) {
      throw invalid(`the value of metadata key ${JSON.stringify(name)} has more than ${identityTextBytesMax} bytes`)
    }
  }
  return Object.fromEntries(entries)
}

/**
 * Returns policies unique and sorted, as written. Throws 400 for `root` in any letter case, since policies are looked up in
 * lower case.
 */
export const cleanPolicies = (names: readonly string[]): string[] => {
  if (lowerNames(names).includes('root')) throw invalid('policies cannot contain root')
  return [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))].sort()
}

/** Returns a name as sent; undefined if empty. Throws 400 if it is too long. */
export const cleanName = (name: string): string | undefined => {
  if (Buffer.byteLength(name) > LIMITS.aliasNameBytesMax) {
    throw invalid(`name is longer than ${LIMITS.aliasNameBytesMax} bytes`)
  }
  return name || undefined
}
