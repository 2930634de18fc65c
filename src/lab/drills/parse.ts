import path from 'node:path'
import { parseDurationMs } from '../../base/duration.js'
import { checkSchema } from '../documents/check-schema.js'
import { isDocumentFile, readDocumentFile, readYaml, refuseProblems } from '../documents/yaml-document.js'
import type { Drill, Expectation, LoadPlan, Step } from './drill.js'
import type { DrillFile, Entry, LoadFile } from './drill-file.js'
import { findDrillProblems } from './judge.js'
import { DRILL_SCHEMA } from './schema/drill.js'
import { EXPECTATIONS } from './schema/expectations.js'
import { VERBS } from './schema/steps.js'

/** Parses a drill. Throws a usage error with one `file:line:column: problem` line per problem. */
export const parseDrill = (text: string, file: string): Drill => {
  const { document, problems } = readYaml(text)
  refuseProblems(file, problems)
  const value = document.toValue(file) as DrillFile
  refuseProblems(file, checkSchema(document, DRILL_SCHEMA))
  const given = besideIt(value, file)
  refuseProblems(file, findDrillProblems(document, given))
  return toDrill(given, file)
}

/** Resolves the path of a topology file relative to the drill file. */
const besideIt = (given: DrillFile, file: string): DrillFile =>
  isDocumentFile(given.topology) ? { ...given, topology: path.resolve(path.dirname(file), given.topology) } : given

export const readDrillFile = (file: string): Drill => parseDrill(readDocumentFile(file), file)

const toDrill = (given: DrillFile, file: string): Drill => ({
  name: given.name ?? path.basename(file).replace(/\.ya?ml$/, ''),
  purpose: given.purpose ?? '',
  symptom: given.symptom,
  fix: given.fix,
  topology: given.topology,
  runners: given.runners ?? [],
  settings: given.settings ?? {},
  shares: given.shares ?? 1,
  threshold: given.threshold ?? given.shares ?? 1,
  load: given.load === undefined ? undefined : toLoad(given.load ?? {}),
  setup: (given.setup ?? []).map(toStep),
  steps: given.steps.map(toStep),
  expect: (given.expect ?? []).map(toExpectation),
})

const toLoad = (load: LoadFile): LoadPlan => ({
  writers: load.writers ?? 4,
  logins: load.logins ?? 1,
  readers: load.readers ?? 2,
  tokens: load.tokens ?? 3,
  at: load.at,
  everyMs: durationOf(load.every ?? '25ms'),
  patienceMs: durationOf(load.patience ?? '2s'),
  readBackOn: load['read-back-on'],
})

/** Returns the milliseconds of a duration that passed schema validation. */
export const durationOf = (text: string): number => parseDurationMs(text) ?? 0

const verbOf = (entry: Entry): string | undefined => Object.keys(entry).find((key) => Object.hasOwn(VERBS, key))

const toStep = (entry: Entry): Step => {
  const verb = verbOf(entry) ?? ''
  const value = verb === 'checkpoint' ? (entry[verb] as Entry[]).map(toExpectation) : entry[verb]
  const { name, error } = entry
  return {
    verb,
    name,
    error: typeof error === 'string' ? { contains: error } : error,
    with: value,
  } as Step
}

const toExpectation = (entry: Entry): Expectation => {
  const about = Object.keys(entry).find((key) => Object.hasOwn(EXPECTATIONS, key))
  return { about, with: entry[about ?? ''] } as Expectation
}
