import { shellWord } from '../../base/shell.js'
import { addressOf, type Call } from './call.js'

/** An input field of an action. */
export interface Field {
  readonly name: string
  readonly label: string
  /**
   * `lines`: one entry per line. `json`: sent as written. A `secret` is hidden during input and never part of a command
   * line.
   */
  readonly kind: 'text' | 'secret' | 'number' | 'check' | 'choice' | 'lines' | 'json' | 'long'
  readonly initial?: string
  readonly choices?: readonly string[]
  readonly isRequired?: true
  readonly hint?: string
}

/** An action as data. Fields that appear in the path as `{name}` are not part of the body. */
export interface Act {
  readonly label: string
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  readonly fields?: readonly Field[]
  /** Sent in addition to the input. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** The name of a JSON field that is the whole body. */
  readonly bodyField?: string
  /** The consequence of the action. */
  readonly consequence?: string
  readonly isDestructive?: true
  /** True if the page shows the result anyway. */
  readonly isQuiet?: true
}

/** Values by field name. A checkbox has `true` or an empty text. */
export type Values = Readonly<Record<string, string>>

export const initialValues = ({ fields = [] }: Act): Values =>
  Object.fromEntries(fields.map(({ name, initial = '' }) => [name, initial]))

const inPath = (path: string, name: string): boolean => path.includes(`{${name}}`)

/** Fills a path. Values come from users, so placeholders inside a value are not replaced. */
const fill = (path: string, values: Values): string =>
  path.replace(/\{(\w+)\}/g, (whole, name: string) => values[name]?.trim() ?? whole)

/** Returns a field as JSON; undefined if it is not sent. Throws if it is invalid. */
const jsonOf = ({ kind, label }: Field, value: string): string | undefined => {
  if (kind === 'check') return value === 'true' ? 'true' : undefined
  if (value.trim() === '') return undefined
  if (kind === 'number') return String(numberOf(label, value))
  if (kind === 'lines') return JSON.stringify(value.split('\n').flatMap((line) => line.trim() || []))
  if (kind === 'json') return checkJson(label, value)
  return JSON.stringify(kind === 'long' ? value : value.trim())
}

const numberOf = (label: string, value: string): number => {
  const number = Number(value)
  if (!Number.isFinite(number)) throw new Error(`${label}: ${value} is no number`)
  return number
}

/** Validates JSON. It is sent as written, because parsing and printing it would round large numbers. */
const checkJson = (label: string, value: string): string => {
  let read: unknown
  try {
    read = JSON.parse(value)
  } catch (error) {
    throw new Error(`${label}: ${error instanceof Error ? error.message : 'this is no JSON'}`, { cause: error })
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new Error(`${label}: this is no JSON object, which begins with { and ends with }`)
  return value
}

const bodyOf = ({ path, fields = [], fixed = {}, bodyField }: Act, values: Values): string | undefined => {
  const pairs = fields.flatMap((field) => {
    const json = inPath(path, field.name) ? undefined : jsonOf(field, values[field.name] ?? '')
    return json === undefined ? [] : [[field.name, json] as const]
  })
  if (bodyField !== undefined) return pairs.find(([name]) => name === bodyField)?.[1] ?? '{}'
  const all = [...Object.entries(fixed).map(([name, value]) => [name, JSON.stringify(value)] as const), ...pairs]
  return all.length === 0 ? undefined : `{${all.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

/** Returns the call. Throws if an input is missing or invalid. */
export const callOf = (act: Act, values: Values): Call => {
  const missing = act.fields?.find(({ name, isRequired }) => isRequired && (values[name] ?? '').trim() === '')
  if (missing) throw new Error(`${missing.label}: this has to be said`)
  const body = bodyOf(act, values)
  return { method: act.method, path: fill(act.path, values), ...(body === undefined ? {} : { body }) }
}

/** Returns the equivalent shell line, without secrets. Throws like `callOf`. */
export const lineOf = (act: Act, values: Values): string => {
  const secrets = (act.fields ?? []).filter(({ kind, name }) => isSecret(kind) && (values[name] ?? '') !== '')
  const shown = { ...values, ...Object.fromEntries(secrets.map(({ name, kind }) => [name, standIn(kind)])) }
  const call = callOf(act, shown)
  const data = call.body === undefined ? '' : ` -d ${shellWord(call.body)}`
  const method = call.method === 'POST' ? '-X POST' : '-X DELETE'
  return `curl ${method} -H "X-Vault-Token: $VAULT_TOKEN" "$VAULT_ADDR"${shellWord(addressOf(call))}${data}`
}

/** Returns true for secret fields. JSON counts as secret, because it contains stored data. */
const isSecret = (kind: Field['kind']): boolean => kind === 'secret' || kind === 'json'

const standIn = (kind: Field['kind']): string => (kind === 'json' ? '{"...":"..."}' : '...')
