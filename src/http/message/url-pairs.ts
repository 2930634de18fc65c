import { invalid } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'

/** This parameter requests help for a path; it is not a field. */
const RESERVED = 'help'

/** Parses the parameters of a query into a null-prototype object. A repeated parameter becomes a list. */
export const parseQuery = (query: string): JsonObject => {
  const data: JsonObject = Object.create(null)
  for (const [name, values] of parsePairs(query)) {
    if (name !== RESERVED) data[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  return data
}

/**
 * Parses the fields of a form. The values of a repeated field are joined by commas. Throws 400 for more than `valuesMax`.
 */
export const parseForm = (form: string, valuesMax: number): JsonObject => {
  if (countOf(form, '&') >= valuesMax) throw invalid(`error parsing the form: more than ${valuesMax} parameters`)
  const data: JsonObject = Object.create(null)
  for (const [name, values] of parsePairs(form)) data[name] = values.join(',')
  return data
}

/** Returns the first value of a parameter; undefined if it is absent. */
export const findParameter = (query: string, name: string): string | undefined => parsePairs(query).get(name)?.[0]

const countOf = (text: string, mark: string): number => {
  let count = 0
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) count++
  return count
}

const parsePairs = (text: string): Map<string, string[]> => {
  const pairs = new Map<string, string[]>()
  if (text === '') return pairs
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decode(equals < 0 ? part : part.slice(0, equals))
    const value = equals < 0 ? '' : decode(part.slice(equals + 1))
    const values = pairs.get(name)
    if (values) values.push(value)
    else pairs.set(name, [value])
  }
  return pairs
}

const decode = (text: string): string => {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid('a parameter contains an invalid escape')
  }
}
