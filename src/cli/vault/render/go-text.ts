/** Formats values in tables like Vault, which uses Go's format. */
import { formatShortDuration } from '../../../base/duration.js'
import { isMap } from '../model/json-map.js'

/** Formats a value like Go: `[a b]` for a list, `map[k:v]` for an object with sorted keys, `<nil>` for null. */
export const goText = (value: unknown): string => {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (!isMap(value)) return String(value)
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goText(value[key])}`)
  return `map[${pairs.join(' ')}]`
}

/** Formats a list like Go: `["a" "b"]`. */
export const goQuotedList = (value: unknown): string =>
  `[${(Array.isArray(value) ? value : []).map((item) => JSON.stringify(goText(item))).join(' ')}]`

/** Formats seconds as `1h30m`; returns other values unchanged. */
export const goDuration = (value: unknown): string => {
  const seconds = Number(goText(value))
  return goText(value) !== '' && Number.isInteger(seconds) ? formatShortDuration(seconds) : goText(value)
}

const DURATION_NAME = /^(?:period|ttl|duration|lease_max|ttl_max)$|_(?:period|ttl|duration)$/

/** Formats a value of `data`. If its name denotes a duration, formats it as one. */
export const dataText = (key: string, value: unknown): string =>
  DURATION_NAME.test(key) ? goDuration(value) : goText(value)
