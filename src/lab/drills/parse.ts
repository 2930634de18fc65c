import path from 'node:path'
import { checkSchema } from '../documents/check-schema.js'
import { isDocumentFile, readDocumentFile, readYaml, refuseProblems } from '../documents/yaml-document.js'
import type { LabSettings } from '../model/settings.js'
import { durationOf } from './context/forms.js'
import { DRILL_SCHEMA, type DrillFile, type Runner } from './drill-schema.js'
import { type Expectation, toExpectation } from './expectations/expectations.js'
import type { LoadPlan } from './load/load.js'
import { findDrillProblems } from './problems.js'
import { isVerb, type Step } from './steps/steps.js'

/** A drill as its file defines it, after schema validation. For the meaning of each part, see `drill-schema.ts`. */
export interface Drill {
  readonly name: string
  readonly purpose: string
  readonly symptom: string | undefined
  readonly fix: string | undefined
  /** The name or file of a topology. */
  readonly topology: string
  /** If empty, the drill runs in every environment. */
  readonly runners: readonly Runner[]
  readonly settings: LabSettings
  readonly shares: number
  readonly threshold: number
  readonly load: LoadPlan | undefined
  readonly setup: readonly Step[]
  readonly steps: readonly Step[]
  readonly expect: readonly Expectation[]
}

/** Parses a drill. Throws a usage error with one `file:line:column: problem` line per problem. */
export const parseDrill = (text: string, file: string): Drill => {
  const { document, problems } = readYaml(text)
  refuseProblems(file, problems)
  const value = document.toValue(file) as DrillFile
  refuseProblems(file, checkSchema(document, DRILL_SCHEMA))
  // The path of a topology file is relative to the drill file.
  const { topology } = value
  const isFile = isDocumentFile(topology)
  const given = isFile ? { ...value, topology: path.resolve(path.dirname(file), topology) } : value
  refuseProblems(file, findDrillProblems(document, given))
  return toDrill(given, file)
}

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
  load: given.load === undefined ? undefined : toLoad(given.load),
  setup: (given.setup ?? []).map(toStep),
  steps: given.steps.map(toStep),
  expect: (given.expect ?? []).map(toExpectation),
})

const toLoad = (given: NonNullable<DrillFile['load']>): LoadPlan => {
  const { every = '25ms', patience = '2s', at, 'read-back-on': readBackOn, ...counts } = given
  const times = { everyMs: durationOf(every), patienceMs: durationOf(patience) }
  return { writers: 4, logins: 1, readers: 2, tokens: 3, ...counts, ...times, at, readBackOn }
}

const toStep = (entry: DrillFile['steps'][number]): Step => {
  const verb = Object.keys(entry).find(isVerb) ?? 'call'
  const { name, error } = entry
  return { verb, name, error: typeof error === 'string' ? { contains: error } : error, with: entry[verb] } as Step
}
