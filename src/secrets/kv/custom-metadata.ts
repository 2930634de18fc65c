/** Rules for what users write beside a secret. Lengths count bytes. */
import { invalid } from '../../logical/errors.js'
import type { JsonValue } from '../../logical/json.js'

const KEYS_MAX = 64
const KEY_BYTES_MAX = 128
const VALUE_BYTES_MAX = 512
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u

/** An empty map is none. Throws 400 with every rule that is broken. */
export const parseCustomMetadata = (pairs: Readonly<Record<string, string>> | null): Record<string, string> | null => {
  const entries = Object.entries(pairs ?? {})
  const problems =
    entries.length > KEYS_MAX
      ? [`payload must contain at most ${KEYS_MAX} keys, provided ${entries.length}`]
      : entries.flatMap(([key, value]) => problemsOf(key, value))
  if (problems.length > 0) {
    const lines = problems.map((problem) => `\t* custom_metadata validation failed: ${problem}\n`).join('')
    throw invalid(`${problems.length} error${problems.length === 1 ? '' : 's'} occurred:\n${lines}\n`)
  }
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

const problemsOf = (key: string, value: string): string[] => {
  const quoted = JSON.stringify(key)
  const keyBytes = Buffer.byteLength(key)
  const valueBytes = Buffer.byteLength(value)
  const problems: string[] = []
  if (keyBytes === 0 || keyBytes > KEY_BYTES_MAX) {
    problems.push(`length of key ${quoted} is ${keyBytes} but must be 0 < len(key) <= ${KEY_BYTES_MAX}`)
  }
  if (valueBytes === 0 || valueBytes > VALUE_BYTES_MAX) {
    problems.push(`length of value for key ${quoted} is ${valueBytes} but must be 0 < len(value) <= ${VALUE_BYTES_MAX}`)
  }
  if (!PRINTABLE.test(key)) problems.push(`key ${quoted} (${key}) contains unprintable characters`)
  if (!PRINTABLE.test(value)) problems.push(`value for key ${quoted} contains unprintable characters`)
  return problems
}

/** A merge patch: keys with null go, the others are set. `sent` is the body's field, `pairs` its coerced form. */
export const patchCustomMetadata = (
  before: Readonly<Record<string, string>> | null,
  sent: JsonValue | undefined,
  pairs: Readonly<Record<string, string>> | null,
): Record<string, string> | null => {
  if (pairs === null || sent === null || typeof sent !== 'object') return null
  const merged: Record<string, string> = Object.assign(Object.create(null), before)
  for (const [key, value] of Object.entries(pairs)) {
    if (!Array.isArray(sent) && (sent as Record<string, JsonValue>)[key] === null) delete merged[key]
    else merged[key] = value
  }
  return parseCustomMetadata(merged)
}
