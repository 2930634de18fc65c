import { KINDS } from '../../kinds.js'
import { LabError } from '../../lab-error.js'
import type { PageAction, PageKind, PageVerb } from '../page-facts.js'
import { VERBS } from './verbs.js'

/** An hour: whoever wants more means a cut. */
const LATENCY_MS_MAX = 3_600_000

/** Of drills that ship with the package, and of snapshots that are kept: the page reaches no files. */
const NAME = /^[A-Za-z0-9][\w.-]{0,99}$/

/** An action as a page may ask for it; whatever is none is a usage error that says why. */
export const parseAction = (value: unknown): PageAction => {
  const { verb, clusters = [], kind, ms, isForced, name, ...others } = asObject(value)
  const [stranger] = Object.keys(others)
  if (stranger !== undefined) throw new LabError('usage', `"${stranger}" is no part of an action`)
  if (typeof verb !== 'string' || !Object.hasOwn(VERBS, verb))
    throw new LabError('usage', `"verb" is one of ${Object.keys(VERBS).join(', ')}`)
  const known = verb as PageVerb
  const { needs = [] } = VERBS[known]
  return {
    verb: known,
    clusters: parseClusters(clusters, VERBS[known].clusters),
    ...(needs.includes('kind') ? { kind: parseKind(kind) } : {}),
    ...(needs.includes('ms') ? { ms: parseMs(ms) } : {}),
    ...(needs.includes('name') ? { name: parseName(name) } : {}),
    ...(isForced === true ? { isForced } : {}),
  }
}

const asObject = (value: unknown): Record<string, unknown> => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new LabError('usage', 'an action is an object')
}

const parseClusters = (value: unknown, count: number): readonly string[] => {
  const isList = Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (!isList || value.length !== count)
    throw new LabError('usage', `"clusters" has the names of ${count} clusters for this`)
  if (new Set(value).size < count) throw new LabError('usage', 'name two clusters')
  return value as string[]
}

const parseKind = (value: unknown): PageKind => {
  const found = KINDS.find((kind) => kind === value)
  if (found) return found
  throw new LabError('usage', `"kind" is one of ${KINDS.join(', ')}`)
}

const parseMs = (value: unknown): number => {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LATENCY_MS_MAX) return Number(value)
  throw new LabError('usage', `"ms" is a whole number of milliseconds from 1 to ${LATENCY_MS_MAX}`)
}

const parseName = (value: unknown): string => {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw new LabError('usage', '"name" has letters, digits, "_", "." and "-", and a letter or digit first')
}
