import { type Json, listOf, partOf } from '../parts/api.js'

/** One line of a response. */
interface AnswerRow {
  readonly name: string
  readonly value: string
  readonly isSecret: boolean
}

const SECRETS = /token|secret_id$|password|key|otp/
const NO_SECRETS = /accessor|ttl|num_uses|type|public/

const rowOf = (name: string, value: unknown): AnswerRow => ({
  name,
  value: typeof value === 'string' ? value : JSON.stringify(value),
  isSecret: SECRETS.test(name) && !NO_SECRETS.test(name),
})

const rowsOf = (part: Json, names = Object.keys(part)): AnswerRow[] =>
  names.flatMap((name) => {
    const value = part[name]
    return value === null || value === undefined || value === '' ? [] : [rowOf(name, value)]
  })

const ENVELOPE = [
  'request_id',
  'lease_id',
  'renewable',
  'lease_duration',
  'data',
  'wrap_info',
  'warnings',
  'auth',
  'mount_type',
]

/** Returns the relevant lines of an action's response; empty if it contains none. */
export const answerRows = (json: Json): readonly AnswerRow[] => [
  ...rowsOf(partOf(json, 'wrap_info'), ['token', 'ttl']),
  ...rowsOf(partOf(json, 'auth'), ['client_token', 'accessor', 'policies', 'lease_duration']),
  ...rowsOf(partOf(json, 'data')),
  // Some responses have no envelope.
  ...rowsOf(Object.fromEntries(Object.entries(json).filter(([name]) => !ENVELOPE.includes(name)))),
]

export const warningsOf = (json: Json): readonly string[] => listOf(json, 'warnings').map(String)
