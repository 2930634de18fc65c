/**
 * Parses the metadata of a SecretID. Clients send the metadata as one text: a JSON object of strings, or a
 * comma-separated list of `key=value`. Both can be in base64.
 */
import { attempt } from '../../base/attempt.js'
import { decodeBase64 } from '../../base/base64.js'
import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { parseJson } from '../../logical/json.js'

/** Returns the metadata. Throws LogicalError 400 `failed to parse metadata: ...` for an invalid text. */
export const parseMetadata = (sent: string): Record<string, string> => {
  const trimmed = sent.trim()
  if (trimmed === '') return {}
  const text = decodeBase64(trimmed)?.toString('utf8') ?? trimmed
  const pairs = parseObject(text) ?? parsePairs(text)
  const empty = pairs.find(([key, value]) => key !== '' && value === '')
  if (empty) throw refusal(`invalid value for key ${JSON.stringify(empty[0])}`)
  return Object.fromEntries(pairs)
}

type Pairs = (readonly [key: string, value: string])[]

const refusal = (why: string) => invalid(`failed to parse metadata: ${why}`)

/**
 * Parses a JSON object of strings. Returns undefined for any other text. A null value becomes an empty string, and the
 * text `null` becomes an empty object.
 */
const parseObject = (text: string): Pairs | undefined => {
  const value = attempt(() => parseJson(text, LIMITS.listElementsMax))
  if (value === null) return []
  if (typeof value !== 'object' || Array.isArray(value)) return undefined
  const pairs = Object.entries(value)
  const areTexts = pairs.every(([, inner]) => inner === null || typeof inner === 'string')
  return areTexts ? pairs.map(([key, inner]) => [key, inner ?? '']) : undefined
}

/** Parses a list such as `a=1,b=2`. The result is in lower case. Throws LogicalError 400 for an invalid list. */
const parsePairs = (text: string): Pairs => {
  const texts = text.split(',', LIMITS.listElementsMax + 1)
  if (texts.length > LIMITS.listElementsMax) throw refusal(`more than ${LIMITS.listElementsMax} pairs`)
  const items = new Set(texts.map((item) => item.trim().toLowerCase()))
  items.delete('')
  return [...items].sort().map((item) => {
    const [key = '', value = '', ...more] = item.split('=').map((part) => part.trim())
    if (key === '' || value === '' || more.length > 0)
      throw refusal('neither a JSON object of strings nor key=value pairs')
    return [key, value]
  })
}
