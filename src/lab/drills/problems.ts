import type * as Yaml from 'yaml'
import {
  isDocumentFile,
  loadYaml,
  nodeAt,
  type Problem,
  readDocumentFile,
  type YamlDocument,
} from '../documents/yaml-document.js'
import type { Schema } from '../documents/schema.js'
import { LabError } from '../model/lab-error.js'
import { allServersOf } from '../model/topology.js'
import { loadTopology, requireTopology } from '../topology/catalogue.js'
import { CLUSTER, SERVER } from './context/forms.js'
import { DRILL_SCHEMA, type DrillFile } from './drill-schema.js'
import { findExpectationProblems, isOfLoad, toExpectation } from './expectations/expectations.js'
import { isVerb, rowOf } from './steps/steps.js'

type Entry = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]
type Report = (at: Path, text: string) => Problem

/** Finds problems that a schema cannot describe: inconsistent values. */
export const findDrillProblems = (document: YamlDocument, drill: DrillFile): Problem[] => {
  const problem: Report = (at, text) => ({ ...document.placeOf(nodeAt(document, at)), text })
  const { shares = 1, threshold = shares, load, setup = [], steps, expect = [] } = drill
  return [
    ...judgeTopology(document, drill, problem),
    ...(threshold > shares || (threshold === 1 && shares > 1)
      ? [problem(['threshold'], `a threshold of ${threshold} is not possible with ${shares} shares`)]
      : []),
    ...setup.flatMap((step, index) => judgeStep(step, ['setup', index], problem)),
    ...steps.flatMap((step, index) => judgeStep(step, ['steps', index], problem)),
    ...expect.flatMap((entry, index) => judgeExpectation(entry, ['expect', index], load !== undefined, problem)),
  ]
}

/** Reports a missing topology, or clusters that it does not have. An invalid topology file throws with positions in that file. */
const judgeTopology = (document: YamlDocument, { topology }: DrillFile, problem: Report): Problem[] => {
  try {
    if (isDocumentFile(topology)) readDocumentFile(topology)
    else requireTopology(topology)
  } catch (error) {
    if (error instanceof LabError) return [problem(['topology'], error.message)]
    throw error
  }
  const found = loadTopology(topology)
  return findStrangers(document, DRILL_SCHEMA, document.root, [...new Set([...found.clusters, ...allServersOf(found)])])
}

/** The forms of values that name clusters. */
const CLUSTER_PATTERNS: ReadonlySet<string> = new Set([CLUSTER.pattern, SERVER.pattern])

/** Returns the cluster of a variable such as `${A.active_node}`. */
const letterOf = (text: string): string => /^\$\{([A-Z])\./.exec(text)?.[1] ?? text

/** Finds clusters that the topology does not have. */
const findStrangers = (
  document: YamlDocument,
  { items = {}, properties = {}, pattern = '' }: Schema,
  given: unknown,
  clusters: readonly string[],
): Problem[] => {
  const { isMap, isScalar, isSeq } = loadYaml()
  const node = document.resolve(given)
  if (isSeq(node)) return node.items.flatMap((item) => findStrangers(document, items, item, clusters))
  if (isMap(node))
    return node.items.flatMap(({ key, value }: Yaml.Pair) =>
      findStrangers(document, properties[String(key)] ?? {}, value, clusters),
    )
  if (!isScalar(node) || !CLUSTER_PATTERNS.has(pattern)) return []
  const text = String(node.value)
  if (clusters.includes(letterOf(text))) return []
  return [{ ...document.placeOf(given), text: `the topology has no cluster ${text}; it has ${clusters.join(', ')}` }]
}

const judgeStep = (step: object, at: Path, problem: Report): Problem[] => {
  const verbs = Object.keys(step).filter(isVerb)
  const [verb] = verbs
  if (verb === undefined || verbs.length > 1) {
    const said = verb === undefined ? 'has none' : `has ${verbs.join(' and ')}`
    return [problem(at, `a step has exactly one verb; this one ${said}`)]
  }
  const value = (step as Entry)[verb]
  if (verb === 'checkpoint')
    return (value as Entry[]).flatMap((entry, index) => judgeFact(entry, [...at, verb, index], problem))
  return (rowOf(verb).problems?.(value) ?? []).map((text) => problem([...at, verb], text))
}

const judgeFact = (entry: Entry, at: Path, problem: Report): Problem[] => {
  const [about = ''] = Object.keys(entry)
  if (isOfLoad(about)) return [problem(at, `"${about}" is known at the end only: it cannot stand in a checkpoint`)]
  return judgeExpectation(entry, at, true, problem)
}

const judgeExpectation = (entry: Entry, at: Path, hasLoad: boolean, problem: Report): Problem[] => {
  const names = Object.keys(entry)
  if (names.length !== 1) return [problem(at, 'an expectation is a map with exactly one name')]
  const { about, with: value } = toExpectation(entry)
  if (isOfLoad(about) && !hasLoad)
    return [problem(at, `"${about}" is measured by the load, and this drill has none: add "load: {}"`)]
  return findExpectationProblems(about, value).map((text) => problem([...at, about], text))
}
