/** Values as tables show them: the reference prints them as its language does. */
import { formatShortDuration } from '../../../base/duration.js'
import { isMap } from '../model/json-map.js'

/** `[a b]` for a list, `map[k:v]` for an object with its keys in order, `<nil>` for nothing. */
export const goText = (value: unknown): string => {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`
  if (!isMap(value)) return String(value)
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goText(value[key])}`)
  return `map[${pairs.join(' ')}]`
}

/** `["a" "b"]`. */
export const goQuotedList = (value: unknown): string =>
  `[${(Array.isArray(value) ? value : []).map((item) => JSON.stringify(goText(item))).join(' ')}]`

/** Seconds as `1h30m`; what is no number of seconds as it is. */
export const goDuration = (value: unknown): string => {
  const seconds = Number(goText(value))
  return goText(value) !== '' && Number.isInteger(seconds) ? formatShortDuration(seconds) : goText(value)
}

const DURATION_NAME = /^(?:period|ttl|duration|lease_max|ttl_max)$|_(?:period|ttl|duration)$/

/** A value of `data`: what is a length of time by its name is shown as one. */
export const dataText = (key: string, value: unknown): string =>
  DURATION_NAME.test(key) ? goDuration(value) : goText(value)
