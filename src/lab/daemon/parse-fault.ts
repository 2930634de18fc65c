import { KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { boundsOf, LINK_FAULTS, type LinkFault, type LinkFaultName } from '../proxy/link-faults.js'
import type { FaultRequest } from './active-fault.js'
import type { ServerFault } from './server-fault.js'

/** Whether a value is valid, and a description of valid values. */
interface Rule {
  readonly isGood: (value: unknown) => boolean
  readonly words: string
  readonly isOptional?: true
}

type Rules = Readonly<Record<string, Rule>>

const number = (least: number, most: number): Rule => ({
  isGood: (value) => typeof value === 'number' && value >= least && value <= most,
  words: `a number from ${least} to ${most}`,
})
const oneOf = (...texts: readonly string[]): Rule => ({
  isGood: (value) => texts.some((text) => text === value),
  words: `one of ${texts.join(', ')}`,
})
const optional = (rule: Rule): Rule => ({ ...rule, isOptional: true })

/** Ten years, in milliseconds. */
const LONG_MS_MAX = 10 * 365 * 24 * 3_600_000

const TEXT: Rule = {
  isGood: (value) => typeof value === 'string' && /^[^\p{Cc}]{1,256}$/u.test(value),
  words: 'a text of 1 to 256 characters',
}
const KIND = optional(oneOf(...KINDS))

const rulesOf = ({ fields }: (typeof LINK_FAULTS)[LinkFaultName]): Rules =>
  Object.fromEntries(
    fields.map((field) => {
      const rule = number(...boundsOf(field))
      return [field.name, field.isOptional ? optional(rule) : rule]
    }),
  )
const LINK_RULES: Readonly<Record<string, Rules>> = Object.fromEntries(
  Object.entries(LINK_FAULTS).map(([name, row]) => [name, rulesOf(row)]),
)

const SERVER_FAULTS: Readonly<Record<ServerFault['name'], Rules>> = {
  'hold-state': { state: TEXT, kind: KIND },
  skew: { ms: number(-LONG_MS_MAX, LONG_MS_MAX) },
  disk: { state: oneOf('full', 'fail', 'slow'), delayMs: optional(number(0, 60_000)) },
  corrupt: {
    tree: oneOf('replicated', 'local'),
    page: { isGood: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255, words: 'a page' },
  },
  'expire-token': { id: TEXT, kind: KIND },
}

const AT: Rules = { proxy: TEXT, direction: oneOf('up', 'down'), toxic: TEXT, toxicity: number(0, 1) }
const BOOLEAN: Rule = { isGood: (value) => typeof value === 'boolean', words: 'true or false', isOptional: true }
const WISH: Rules = { forMs: optional(number(0, LONG_MS_MAX)), isHidden: BOOLEAN }

type Given = Readonly<Record<string, unknown>>

/** Validates a request to set a fault, and returns its known properties. Throws a usage error that names the problem. */
export const parseFaultRequest = (value: unknown): FaultRequest => {
  if (!isRecord(value) || !isRecord(value.fault)) throw new LabError('usage', 'this is not a fault')
  const wish = pick(value, WISH)
  if (value.between === undefined) {
    const { cluster } = pick(value, { cluster: TEXT })
    return { ...wish, cluster, fault: parseFault(value.fault, SERVER_FAULTS) } as FaultRequest
  }
  const { between } = value
  const at = isRecord(value.at) ? pick(value.at, AT) : undefined
  // Proxies that clients have added have no clusters.
  const isName = at ? (name: unknown) => typeof name === 'string' : TEXT.isGood
  if (!Array.isArray(between) || between.length !== 2 || !between.every(isName))
    throw new LabError('usage', '"between" is the names of two clusters or nodes')
  const { isOneWay = false } = pick(value, { isOneWay: BOOLEAN })
  const fault = parseFault(value.fault, LINK_RULES)
  return { ...wish, between, isOneWay, fault, ...(at && { at }) } as unknown as FaultRequest
}

const parseFault = (given: Given, known: Readonly<Record<string, Rules>>): LinkFault | ServerFault => {
  const { name } = given
  if (typeof name !== 'string' || !Object.hasOwn(known, name))
    throw new LabError('usage', `the name of a fault is one of ${Object.keys(known).join(', ')}`)
  return { name, ...pick(given, known[name] ?? {}) } as unknown as LinkFault | ServerFault
}

const pick = (given: Given, rules: Rules): Given =>
  Object.fromEntries(
    Object.entries(rules).flatMap(([name, { isGood, words, isOptional }]) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined
      if (isOptional && (value === undefined || value === null)) return []
      if (!isGood(value)) throw new LabError('usage', `"${name}" is ${words}`)
      return [[name, value]]
    }),
  )

const isRecord = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
