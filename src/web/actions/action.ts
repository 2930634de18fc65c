import { shellWord } from '../../base/shell.js'
import type { PagePlan } from '../../lab/web/page-facts.js'
import { addressOf, type Call, type Json, listOf, partOf } from '../parts/api.js'

interface PickOption {
  readonly name: string
  /** Short properties, for example the topology and the duration of a drill. */
  readonly facts?: string
  /** The purpose in one or two sentences. */
  readonly about?: string
}

export interface Field {
  readonly name: string
  readonly label: string
  /**
   * `check`: a checkbox. `force`: a checkbox below the plan. `choice`: one of `choices`. `pick`: one of `groups`,
   * without an initial value. `lines`: a list with one entry per line. `json`: an object that is sent as written.
   * `long`: a text of several lines. `secret`: a text that is hidden during input and omitted from command lines.
   */
  readonly kind:
    | ('text' | 'secret' | 'number' | 'milliseconds' | 'check' | 'force')
    | ('choice' | 'pick' | 'lines' | 'json' | 'long')
  readonly initial?: string
  /** The values of a `choice`, with their labels if the labels differ. */
  readonly choices?: readonly (string | readonly [value: string, label: string])[]
  /** The options of a `pick`. Undefined until they are loaded. */
  readonly groups?: readonly { readonly label: string; readonly options: readonly PickOption[] }[]
  /** Shown if a `pick` has no options. */
  readonly none?: string
  readonly isRequired?: true
  readonly hint?: string
}

/** Values by field name. A checkbox has `true` or an empty text. */
export type Values = Readonly<Record<string, string>>

/** The effect of an action with the present input. `what`: accessible name of the command (default: the command). */
export type Plan = Partial<PagePlan> & Pick<PagePlan, 'isDestructive'> & { readonly what?: string }

/** An action of the page. Its dialog asks for the input, shows the plan, runs the action and shows the response. */
export interface Action {
  readonly label: string
  /** The title of the dialog. */
  readonly title: string
  /** The label of the button that runs the action. */
  readonly verb: string
  readonly fields?: readonly Field[]
  /** Loads the fields whose options only the server knows. */
  readonly load?: () => Promise<readonly Field[]>
  readonly consequence?: string
  /** True if the action runs without confirmation, unless its plan is destructive. */
  readonly isAtOnce?: boolean
  /** True if the dialog shows no response, because the page shows the result. */
  readonly isQuiet?: true
  /** Returns undefined if input is missing. Rejects with the reason if the action is not possible. */
  readonly plan: (values: Values) => Plan | Promise<Plan> | undefined
  /** Resolves with the response. Rejects with an Error whose message can be shown to the user. */
  readonly run: (values: Values) => Promise<Json>
}

/** An action that is one API request. Fields that appear in the path as `{name}` are not part of the body. */
export interface ApiAction extends Pick<Action, 'label' | 'fields' | 'consequence' | 'isQuiet'> {
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  /** Fields of the body that do not depend on the input. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** The name of the JSON field whose value is the whole body. */
  readonly bodyField?: string
  readonly isDestructive?: true
}

type Options = Omit<ApiAction, 'label' | 'method' | 'path'>

export const post = (label: string, path: string, options: Options = {}): ApiAction => ({
  label,
  method: 'POST',
  path,
  ...options,
})

/** Returns an action that asks for confirmation, because it removes data or changes a role. */
export const destroy = (label: string, path: string, consequence: string, options: Options = {}): ApiAction =>
  post(label, path, { consequence, isDestructive: true, ...options })

/** Returns an action that deletes the object at its path. */
export const remove = (label: string, path: string, consequence: string): ApiAction => ({
  ...destroy(label, path, consequence),
  method: 'DELETE',
})

type FieldOptions = Omit<Field, 'name' | 'label' | 'kind'>

export const field = (kind: Field['kind'], name: string, label: string, options: FieldOptions = {}): Field => ({
  name,
  label,
  kind,
  ...options,
})

export const required = (kind: Field['kind'], name: string, label: string, initial = ''): Field =>
  field(kind, name, label, { isRequired: true, initial })

/** Returns the action for the dialog. `ask` sends the request. `of`: the object of the action, for the title. */
export const toAction = (action: ApiAction, ask: (call: Call) => Promise<Json>, of = ''): Action => ({
  ...action,
  title: `${verbOf(action)} ${of}`.trim(),
  verb: verbOf(action),
  plan: (values) => ({
    isDestructive: action.isDestructive === true,
    what: 'the request',
    ...findLine(action, values),
  }),
  run: async (values) => ask(callOf(action, values)),
})

/** Returns the label without the ellipsis, which only announces a dialog. */
const verbOf = ({ label }: ApiAction): string => label.replace(' …', '')

export const initialValues = ({ fields = [] }: Pick<Action, 'fields'>): Values =>
  Object.fromEntries(fields.map(({ name, initial = '' }) => [name, initial]))

const inPath = (path: string, name: string): boolean => path.includes(`{${name}}`)

/** Replaces the `{name}` placeholders of a path in one pass, so that a value can contain the text `{name}`. */
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
  if (!Number.isFinite(number)) throw new Error(`${label}: ${value} is not a number`)
  return number
}

/** Validates JSON. It is sent as written, because parsing and printing it would round large numbers. */
const checkJson = (label: string, value: string): string => {
  let read: unknown
  try {
    read = JSON.parse(value)
  } catch (error) {
    throw new Error(`${label}: ${error instanceof Error ? error.message : 'the value is not JSON'}`, { cause: error })
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new Error(`${label}: enter a JSON object, such as {"key": "value"}`)
  return value
}

const bodyOf = ({ path, fields = [], fixed = {}, bodyField }: ApiAction, values: Values): string | undefined => {
  const pairs = fields.flatMap((one) => {
    const json = inPath(path, one.name) ? undefined : jsonOf(one, values[one.name] ?? '')
    return json === undefined ? [] : [[one.name, json] as const]
  })
  if (bodyField !== undefined) return pairs.find(([name]) => name === bodyField)?.[1] ?? '{}'
  const all = [...Object.entries(fixed).map(([name, value]) => [name, JSON.stringify(value)] as const), ...pairs]
  return all.length === 0 ? undefined : `{${all.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

/** Returns the request. Throws if an input is missing or invalid. */
export const callOf = (action: ApiAction, values: Values): Call => {
  const missing = action.fields?.find(({ name, isRequired }) => isRequired && (values[name] ?? '').trim() === '')
  if (missing) throw new Error(`${missing.label}: a value is required`)
  const body = bodyOf(action, values)
  return { method: action.method, path: fill(action.path, values), ...(body === undefined ? {} : { body }) }
}

/** Returns the equivalent `curl` command without secrets. Throws if an input is missing or invalid. */
export const lineOf = (action: ApiAction, values: Values): string => {
  const secrets = (action.fields ?? []).filter(({ kind, name }) => isSecret(kind) && (values[name] ?? '') !== '')
  const shown = { ...values, ...Object.fromEntries(secrets.map(({ name, kind }) => [name, placeholderFor(kind)])) }
  const call = callOf(action, shown)
  const data = call.body === undefined ? '' : ` -d ${shellWord(call.body)}`
  return `curl -X ${call.method} -H "X-Vault-Token: $VAULT_TOKEN" "$VAULT_ADDR"${shellWord(addressOf(call))}${data}`
}

/** Returns the equivalent command; an empty object while the input is incomplete. */
const findLine = (action: ApiAction, values: Values): Pick<Plan, 'command'> => {
  try {
    return { command: lineOf(action, values) }
  } catch {
    return {}
  }
}

/** Returns true for secret fields. JSON counts as secret, because it contains stored data. */
const isSecret = (kind: Field['kind']): boolean => kind === 'secret' || kind === 'json'

const placeholderFor = (kind: Field['kind']): string => (kind === 'json' ? '{"...":"..."}' : '...')

interface ResponseRow {
  readonly name: string
  readonly value: string
  readonly isSecret: boolean
}

/** Names of response fields whose values are hidden, and exceptions. */
const SECRETS = /token|secret_id$|password|key|otp/
const NO_SECRETS = /accessor|ttl|num_uses|type|public/

const rowOf = (name: string, value: unknown): ResponseRow => ({
  name,
  value: typeof value === 'string' ? value : JSON.stringify(value),
  isSecret: SECRETS.test(name) && !NO_SECRETS.test(name),
})

const rowsOf = (part: Json, names = Object.keys(part)): ResponseRow[] =>
  names.flatMap((name) => {
    const value = part[name]
    return value === null || value === undefined || value === '' ? [] : [rowOf(name, value)]
  })

/** Fields that are part of every response, and no result of an action. */
const ENVELOPE = new Set(
  'request_id lease_id renewable lease_duration data wrap_info warnings auth mount_type'.split(' '),
)

/** Returns the results in the response of an action; empty if there are none. */
export const responseRows = (json: Json): readonly ResponseRow[] => [
  ...rowsOf(partOf(json, 'wrap_info'), ['token', 'ttl']),
  ...rowsOf(partOf(json, 'auth'), ['client_token', 'accessor', 'policies', 'lease_duration']),
  ...rowsOf(partOf(json, 'data')),
  // In some responses, the results are not inside a field of the envelope.
  ...rowsOf(Object.fromEntries(Object.entries(json).filter(([name]) => !ENVELOPE.has(name)))),
]

export const warningsOf = (json: Json): readonly string[] => listOf(json, 'warnings').map(String)
