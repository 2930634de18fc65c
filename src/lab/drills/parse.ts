import path from 'node:path'
import type * as Yaml from 'yaml'
import type { Schema } from '../documents/schema.js'
import {
  isDocumentFile,
  loadYaml,
  nodeAt,
  type Problem,
  readDocument,
  readDocumentFile,
  refuseProblems,
  type YamlDocument,
} from '../documents/yaml-document.js'
import { LabError } from '../model/lab-error.js'
import { allServersOf } from '../model/topology.js'
import { loadTopology, requireTopology } from '../topology/catalogue.js'
import { CLUSTER, durationOf, SERVER } from './context/forms.js'
import { DRILL_SCHEMA, type DrillFile } from './drill-schema.js'
import { type Expectation, findExpectationProblems, isOfLoad, toExpectation } from './expectations/expectations.js'
import type { LoadPlan } from './load/load.js'
import { isVerb, rowOf, type Step } from './steps/steps.js'

/**
 * A drill as its file defines it, after schema validation. For the meaning of each part, see `drill-schema.ts`. If
 * `runners` is empty, the drill runs on labs of every kind.
 */
export interface Drill
  extends Required<Pick<DrillFile, 'name' | 'purpose' | 'topology' | 'runners' | 'settings' | 'shares' | 'threshold'>> {
  /** Empty if unknown. */
  readonly duration: string
  readonly symptom: string | undefined
  readonly fix: string | undefined
  readonly load: LoadPlan | undefined
  readonly setup: readonly Step[]
  readonly steps: readonly Step[]
  readonly expect: readonly Expectation[]
}

/** Parses a drill. Throws LabError `usage` with one `file:line:column: problem` line per problem. */
export const parseDrill = (text: string, file: string): Drill => {
  const { document, ...read } = readDocument(text, file, DRILL_SCHEMA)
  const value = read.value as DrillFile
  // The path of a topology file is relative to the drill file.
  const isFile = isDocumentFile(value.topology)
  const topology = isFile ? path.resolve(path.dirname(file), value.topology) : value.topology
  refuseProblems(file, findDrillProblems(document, { ...value, topology }))
  const { name = path.basename(file).replace(/\.ya?ml$/, ''), purpose = '', duration = '', symptom, fix, load } = value
  const { runners = [], settings = {}, shares = 1, threshold = shares, setup = [], steps, expect = [] } = value
  return {
    name,
    purpose,
    duration,
    symptom,
    fix,
    topology,
    runners,
    settings,
    shares,
    threshold,
    load: load && toLoad(load),
    setup: setup.map(toStep),
    steps: steps.map(toStep),
    expect: expect.map(toExpectation),
  }
}

export const readDrillFile = (file: string): Drill => parseDrill(readDocumentFile(file), file)

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

type Entry = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]
type Report = (at: Path, text: string) => Problem

/** Finds problems that a schema cannot describe, such as values that contradict one another. */
const findDrillProblems = (document: YamlDocument, drill: DrillFile): Problem[] => {
  const makeProblem: Report = (at, text) => ({ ...document.placeOf(nodeAt(document, at)), text })
  const { shares = 1, threshold = shares, load, setup = [], steps, expect = [] } = drill
  return [
    ...findTopologyProblems(document, drill, makeProblem),
    ...(threshold > shares || (threshold === 1 && shares > 1)
      ? [makeProblem(['threshold'], `a threshold of ${threshold} with ${shares} shares is invalid`)]
      : []),
    ...setup.flatMap((step, index) => findStepProblems(step, ['setup', index], makeProblem)),
    ...steps.flatMap((step, index) => findStepProblems(step, ['steps', index], makeProblem)),
    ...expect.flatMap((entry, index) => findEntryProblems(entry, ['expect', index], load !== undefined, makeProblem)),
  ]
}

/** Finds a missing topology, and clusters that the topology lacks. Throws for an invalid topology file. */
const findTopologyProblems = (document: YamlDocument, { topology }: DrillFile, makeProblem: Report): Problem[] => {
  try {
    if (isDocumentFile(topology)) readDocumentFile(topology)
    else requireTopology(topology)
  } catch (error) {
    if (error instanceof LabError) return [makeProblem(['topology'], error.message)]
    throw error
  }
  const found = loadTopology(topology)
  const clusters = [...new Set([...found.clusters, ...allServersOf(found)])]
  const { isMap, isScalar, isSeq } = loadYaml()
  const findUnknownClusters = ({ items = {}, properties = {}, pattern = '' }: Schema, given: unknown): Problem[] => {
    const node = document.resolve(given)
    if (isSeq(node)) return node.items.flatMap((item) => findUnknownClusters(items, item))
    if (isMap(node))
      return node.items.flatMap(({ key, value }: Yaml.Pair) =>
        findUnknownClusters(properties[String(key)] ?? {}, value),
      )
    if (!isScalar(node) || !CLUSTER_PATTERNS.includes(pattern)) return []
    const text = String(node.value)
    // A variable such as `${A.active_node}` names its cluster.
    if (clusters.includes(/^\$\{([A-Z])\./.exec(text)?.[1] ?? text)) return []
    return [{ ...document.placeOf(given), text: `the topology has no cluster ${text}; it has ${clusters.join(', ')}` }]
  }
  return findUnknownClusters(DRILL_SCHEMA, document.root)
}

/** The patterns of values that name clusters or nodes. */
const CLUSTER_PATTERNS: readonly string[] = [CLUSTER.pattern, SERVER.pattern]

const findStepProblems = (step: object, at: Path, makeProblem: Report): Problem[] => {
  const verbs = Object.keys(step).filter(isVerb)
  const [verb] = verbs
  if (verb === undefined || verbs.length > 1) {
    const found = verb === undefined ? 'none' : verbs.join(' and ')
    return [makeProblem(at, `a step must have exactly one verb; this step has ${found}`)]
  }
  const value = (step as Entry)[verb]
  if (verb !== 'checkpoint')
    return (rowOf(verb).problems?.(value) ?? []).map((text) => makeProblem([...at, verb], text))
  return (value as Entry[]).flatMap((entry, index) => {
    const place = [...at, verb, index]
    const [about = ''] = Object.keys(entry)
    if (isOfLoad(about))
      return [makeProblem(place, `"${about}" is measured at the end of the drill, so a checkpoint cannot contain it`)]
    return findEntryProblems(entry, place, true, makeProblem)
  })
}

const findEntryProblems = (entry: Entry, at: Path, hasLoad: boolean, makeProblem: Report): Problem[] => {
  if (Object.keys(entry).length !== 1) return [makeProblem(at, 'an expectation must be a map with exactly one name')]
  const expectation = toExpectation(entry)
  const { about } = expectation
  if (isOfLoad(about) && !hasLoad) return [makeProblem(at, `"${about}" requires a load: add "load: {}"`)]
  return findExpectationProblems(expectation).map((text) => makeProblem([...at, about], text))
}
