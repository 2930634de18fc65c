/** Redacts values in audit entries with a keyed hash: equal texts have equal hashes on the same device only. */
import { LIMITS } from '../../base/limits.js'
import { remembered } from '../../base/remembered.js'
import { nextTurn, yieldToEventLoop } from '../../base/turn.js'
import { createSha256, hmacSha256Hex } from '../../crypto/digest.js'
import { RawJson, RawNumber } from '../../base/json.js'
import { printPieces } from '../../base/json-print.js'
import { parseJson } from '../../logical/json.js'

export interface Redactor {
  /** Hashes a token or a string value. */
  text(value: string): string
  accessor(value: string): string
  /** Returns a copy of `value` with all strings hashed, except those whose key is in `plainKeys`. */
  values(value: unknown, plainKeys: ReadonlySet<string>): unknown
  /** Returns whether the output of `values` fits into `LIMITS.auditDataBytesMax`. Stops counting at that limit. */
  fits(value: unknown, plainKeys: ReadonlySet<string>): boolean
  /** Returns true if `fits` was called for this value and returned false. */
  isLarge(value: unknown): boolean
}

/** The digest that replaces data too large for string-by-string hashing. */
interface WholeDigest {
  /** Hex digest of the data as JSON. */
  readonly sha256: string
  readonly bytes: number
}

/** Digests of large data, computed once for all devices and both entries of a request. */
export class WholeDigests {
  readonly #known = new WeakMap<object, WholeDigest>()

  of(value: object): WholeDigest {
    return remembered(this.#known, value, () => {
      const digest = createPiecesDigest()
      for (const piece of printPieces(value)) digest.add(piece)
      return digest.end()
    })
  }

  /** Computes a digest over several turns of the event loop and caches it for `of`. */
  async prepare(value: object): Promise<void> {
    if (this.#known.has(value)) return
    await nextTurn()
    const digest = createPiecesDigest()
    for (const piece of printPieces(value)) {
      for (let at = 0; at < piece.length; ) {
        await yieldToEventLoop(piece.length)
        const end = endOfPiece(piece, at + PIECE_SIZE)
        digest.add(piece.slice(at, end))
        at = end
      }
    }
    this.#known.set(value, digest.end())
  }
}

/** The number of characters or bytes hashed in one turn of the event loop. */
const PIECE_SIZE = 4 * 1024 * 1024

/** Returns `end`, but at most the length of the piece, and one more if `end` would split a surrogate pair. */
const endOfPiece = (piece: string | Buffer, end: number): number => {
  const code = typeof piece === 'string' ? piece.charCodeAt(end - 1) : 0
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : Math.min(end, piece.length)
}

const createPiecesDigest = () => {
  const digest = createSha256()
  let bytes = 0
  return {
    add: (piece: string | Buffer) => {
      const encoded = typeof piece === 'string' ? Buffer.from(piece) : piece
      bytes += encoded.length
      digest.add(encoded)
    },
    end: (): WholeDigest => ({ sha256: digest.hex(), bytes }),
  }
}

export const hashText = (salt: string, text: string): string => `hmac-sha256:${hmacSha256Hex(Buffer.from(salt), text)}`

export const createRedactor = (salt: string, options: { isRaw: boolean; hashesAccessors: boolean }): Redactor => {
  const plain = (text: string) => text
  const hash = (text: string) => hashText(salt, text)
  const text = options.isRaw ? plain : hash
  const large = new WeakSet<object>()
  const isLarge = (value: unknown) => typeof value === 'object' && value !== null && large.has(value)
  return {
    text,
    accessor: options.isRaw || !options.hashesAccessors ? plain : hash,
    values: (value, plainKeys) =>
      mapStrings(value, undefined, (found, key) => (plainKeys.has(key ?? '') ? found : text(found))),
    isLarge,
    fits: (value, plainKeys) => {
      if (isLarge(value)) return false
      const budget = { characters: LIMITS.auditDataBytesMax }
      const lengthOf = (found: string, key: string | undefined) =>
        options.isRaw || plainKeys.has(key ?? '') ? found.length : HASH_CHARACTERS
      const isFitting = fitsBudget(value, undefined, lengthOf, budget)
      if (!isFitting && typeof value === 'object' && value !== null) large.add(value)
      return isFitting
    },
  }
}

/**
 * Returns a copy of `value` in which `change` has replaced every string. `change` also receives the key of the string.
 * Elements of a list have the key of the list.
 */
const mapStrings = (
  value: unknown,
  key: string | undefined,
  change: (text: string, key: string | undefined) => string,
): unknown => {
  if (typeof value === 'string') return change(value, key)
  if (value instanceof RawJson) return mapStrings(parseJson(value.text), key, change)
  if (Array.isArray(value)) return value.map((element) => mapStrings(element, key, change))
  if (typeof value !== 'object' || value === null || value instanceof RawNumber) return value
  const copy: Record<string, unknown> = Object.create(null)
  for (const [name, element] of Object.entries(value)) copy[name] = mapStrings(element, name, change)
  return copy
}

const HASH_CHARACTERS = 'hmac-sha256:'.length + 64
/** Characters that JSON adds to a key and its text: two quotes, a colon and a comma. */
const JSON_OVERHEAD = 4

/**
 * Subtracts the approximate output size of `mapStrings` from `budget`. Returns false as soon as the budget is exceeded.
 */
const fitsBudget = (
  value: unknown,
  key: string | undefined,
  lengthOf: (text: string, key: string | undefined) => number,
  budget: { characters: number },
): boolean => {
  budget.characters -= JSON_OVERHEAD
  if (typeof value === 'string') budget.characters -= lengthOf(value, key)
  if (value instanceof RawNumber) budget.characters -= value.text.length
  if (budget.characters < 0) return false
  if (value instanceof RawJson) {
    return value.size <= LIMITS.auditParsedCharactersMax && fitsBudget(parseJson(value.text), key, lengthOf, budget)
  }
  if (Array.isArray(value)) return value.every((element) => fitsBudget(element, key, lengthOf, budget))
  if (typeof value !== 'object' || value === null || value instanceof RawNumber) return true
  for (const name in value) {
    budget.characters -= name.length + JSON_OVERHEAD
    if (!fitsBudget((value as Record<string, unknown>)[name], name, lengthOf, budget)) return false
  }
  return true
}
