import { shellWord } from '../../base/shell.js'
import { addressOf, type Call } from './call.js'

/** What is asked for before something is done. */
export interface Field {
  readonly name: string
  readonly label: string
  /** `lines`: one entry a line. `json`: sent as it is written. A secret is not shown while it is typed, and never in a line. */
  readonly kind: 'text' | 'secret' | 'number' | 'check' | 'choice' | 'lines' | 'json' | 'long'
  readonly initial?: string
  readonly choices?: readonly string[]
  readonly isRequired?: true
  readonly hint?: string
}

/** Something that can be done, as data. What stands in the path as `{name}` is no part of the body. */
export interface Act {
  readonly label: string
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  readonly fields?: readonly Field[]
  /** Sent besides what is asked for. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** Of a field of JSON that is the whole body. */
  readonly bodyField?: string
  /** What becomes of it. */
  readonly consequence?: string
  readonly isDestructive?: true
  /** What it is answered with is seen on the page anyway. */
  readonly isQuiet?: true
}

/** By the names of fields; of a check `true` or nothing. */
export type Values = Readonly<Record<string, string>>

export const initialValues = ({ fields = [] }: Act): Values =>
  Object.fromEntries(fields.map(({ name, initial = '' }) => [name, initial]))

const inPath = (path: string, name: string): boolean => path.includes(`{${name}}`)

/** Parts of a path are named by people, so what is put in place of one is not read again. */
const fill = (path: string, values: Values): string =>
  path.replace(/\{(\w+)\}/g, (whole, name: string) => values[name]?.trim() ?? whole)

/** A field as JSON; undefined where it is not sent. Throws where it is not what it should be. */
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

/** Text is sent as it stands: reading and writing it anew would round large numbers. */
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

/** Throws where something is missing or is not what it should be. */
export const callOf = (act: Act, values: Values): Call => {
  const missing = act.fields?.find(({ name, isRequired }) => isRequired && (values[name] ?? '').trim() === '')
  if (missing) throw new Error(`${missing.label}: this has to be said`)
  const body = bodyOf(act, values)
  return { method: act.method, path: fill(act.path, values), ...(body === undefined ? {} : { body }) }
}

/** The line of a shell that does the same, without a secret. Throws as `callOf` does. */
export const lineOf = (act: Act, values: Values): string => {
  const secrets = (act.fields ?? []).filter(({ kind, name }) => isSecret(kind) && (values[name] ?? '') !== '')
  const shown = { ...values, ...Object.fromEntries(secrets.map(({ name, kind }) => [name, standIn(kind)])) }
  const call = callOf(act, shown)
  const data = call.body === undefined ? '' : ` -d ${shellWord(call.body)}`
  const method = call.method === 'POST' ? '-X POST' : '-X DELETE'
  return `curl ${method} -H "X-Vault-Token: $VAULT_TOKEN" "$VAULT_ADDR"${shellWord(addressOf(call))}${data}`
}

/** What is stored is a secret as well. */
const isSecret = (kind: Field['kind']): boolean => kind === 'secret' || kind === 'json'

const standIn = (kind: Field['kind']): string => (kind === 'json' ? '{"...":"..."}' : '...')
