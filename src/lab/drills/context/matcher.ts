import { isRecord } from '../../documents/schema.js'

/**
 * Returns the difference between an actual value and the expected value of a drill, with its position, or undefined.
 * Ignores extra keys of an actual map. Operators such as `{ at-least }` are bounds. Other values must be equal.
 */
export const findMismatch = (given: unknown, wanted: unknown, at = ''): string | undefined => {
  const where = at === '' ? '' : `${at} `
  if (isBounds(wanted)) {
    for (const [word, bound] of Object.entries(wanted)) {
      if (!BOUNDS[word as Bound](given, bound)) return `${where}is ${show(given)}, not ${describe(word, bound)}`
    }
    return undefined
  }
  if (isRecord(wanted)) {
    if (!isRecord(given)) return `${where}is ${show(given)}, not ${show(wanted)}`
    for (const [key, value] of Object.entries(wanted)) {
      const mismatch = findMismatch(given[key], value, at === '' ? key : `${at}.${key}`)
      if (mismatch !== undefined) return mismatch
    }
    return undefined
  }
  return isEqual(given, wanted) ? undefined : `${where}is ${show(given)}, not ${show(wanted)}`
}

/** Describes an expected value in English, such as `at least 1 and at most 5`. */
export const describeWanted = (wanted: unknown): string =>
  isBounds(wanted)
    ? Object.entries(wanted)
        .map(([word, bound]) => describe(word, bound))
        .join(' and ')
    : show(wanted)

type Bound = 'at-least' | 'at-most' | 'contains' | 'not' | 'one-of' | 'present'

const BOUNDS: Readonly<Record<Bound, (given: unknown, bound: unknown) => boolean>> = {
  'at-least': (given, bound) => given !== null && given !== '' && Number(given) >= Number(bound),
  'at-most': (given, bound) => given !== null && given !== '' && Number(given) <= Number(bound),
  contains: (given, bound) =>
    Array.isArray(given) ? given.some((one) => isEqual(one, bound)) : String(given ?? '').includes(String(bound)),
  not: (given, bound) => !isEqual(given, bound),
  'one-of': (given, bound) => Array.isArray(bound) && bound.some((one) => isEqual(given, one)),
  present: (given, bound) => (given !== undefined && given !== null) === bound,
}

const describe = (word: string, bound: unknown): string => `${word.replace('-', ' ')} ${show(bound)}`

/** Whether all keys of a map are operators. A map with any other key is a plain value. */
const isBounds = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) && Object.keys(value).length > 0 && Object.keys(value).every((key) => Object.hasOwn(BOUNDS, key))

/** Whether two JSON values are equal. The order of keys does not matter. */
export const isEqual = (one: unknown, other: unknown): boolean => {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isEqual(item, other[index]))
  if (isRecord(one) && isRecord(other)) {
    const keys = new Set([...Object.keys(one), ...Object.keys(other)])
    return [...keys].every((key) => isEqual(one[key], other[key]))
  }
  return one === other
}

const SHOWN_MAX = 120

const show = (value: unknown): string => {
  const text = value === undefined ? 'absent' : JSON.stringify(value)
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}...` : text
}
