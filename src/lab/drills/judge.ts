import type * as Yaml from 'yaml'
import {
  isDocumentFile,
  loadYaml,
  type Problem,
  readDocumentFile,
  type YamlDocument,
} from '../documents/yaml-document.js'
import { nearest } from '../../base/nearest.js'
import { LabError } from '../model/lab-error.js'
import { LINK_FAULTS, type LinkFaultName } from '../proxy/link-faults.js'
import { allServersOf, type Topology } from '../model/topology.js'
import { findTopology, TOPOLOGY_NAMES } from '../topology/catalogue.js'
import { parseTopology } from '../topology/parse.js'
import type { DrillFile, Entry } from './drill-file.js'
import { EXPECTATIONS, LOAD_EXPECTATIONS } from './schema/expectations.js'
import { VERBS } from './schema/steps.js'

type Path = readonly (string | number)[]
type Report = (at: Path, text: string) => Problem

/** Finds problems that a schema cannot describe: inconsistent values. */
export const findDrillProblems = (document: YamlDocument, drill: DrillFile): Problem[] => {
  const problem: Report = (at, text) => ({ ...document.placeOf(nodeAt(document, at)), text })
  const { shares = 1, threshold = shares, load, setup = [], steps, expect = [] } = drill
  return [
    ...judgeTopology(document, drill, problem),
    ...(threshold > shares || (threshold === 1 && shares > 1)
      ? [problem(['threshold'], `a threshold of ${threshold} does not go with ${shares} shares`)]
      : []),
    ...setup.flatMap((step, index) => judgeStep(step, ['setup', index], problem)),
    ...steps.flatMap((step, index) => judgeStep(step, ['steps', index], problem)),
    ...expect.flatMap((entry, index) => judgeExpectation(entry, ['expect', index], load !== undefined, problem)),
  ]
}

/** Returns the clusters of the topology. Reports an invalid topology file with positions in that file. */
const judgeTopology = (document: YamlDocument, { topology }: DrillFile, problem: Report): Problem[] => {
  const found = isDocumentFile(topology) ? readOwn(topology) : (findTopology(topology) ?? describeUnknown(topology))
  return typeof found === 'string'
    ? [problem(['topology'], found)]
    : findStrangers(document, document.root, [...new Set([...found.clusters, ...allServersOf(found)])])
}

/** Returns the topology, or the reason why it cannot be read. */
const readOwn = (file: string): Topology | string => {
  let text: string
  try {
    text = readDocumentFile(file)
  } catch (error) {
    if (error instanceof LabError) return error.message
    throw error
  }
  return parseTopology(text, file)
}

const describeUnknown = (topology: string): string => {
  const guess = nearest(topology, TOPOLOGY_NAMES)
  const hint = guess ? `did you mean "${guess}"?` : `there are ${TOPOLOGY_NAMES.join(', ')}`
  return `there is no topology "${topology}"; ${hint}`
}

/** Keys whose values are clusters, and keys whose subtree is free-form data. */
const CLUSTER_KEYS = new Set(
  'cluster between primary secondary equal on accepted-by at read-back-on start stop restart crash pause resume seal unseal'.split(
    ' ',
  ),
)
const FOREIGN_KEYS = new Set('body fields is save headers query expect settings labels'.split(' '))

/** Returns the cluster of a variable such as `${A.active_node}`. */
const letterOf = (text: string): string => /^\$\{([A-Z])\./.exec(text)?.[1] ?? text

const findStrangers = (document: YamlDocument, given: unknown, clusters: readonly string[]): Problem[] => {
  const { isMap, isScalar, isSeq } = loadYaml()
  const node = document.resolve(given)
  if (isSeq(node)) return node.items.flatMap((item) => findStrangers(document, item, clusters))
  if (!isMap(node)) return []
  return node.items.flatMap((pair: Yaml.Pair) => {
    const key = String(pair.key)
    const value = document.resolve(pair.value)
    // At the top level, "expect" is a list of expectations. Below a request, it is the expected response.
    if (FOREIGN_KEYS.has(key) && !(key === 'expect' && isSeq(value))) return []
    if (!CLUSTER_KEYS.has(key)) return findStrangers(document, value, clusters)
    const letters: unknown[] = isSeq(value) ? value.items : [value]
    return letters
      .filter((one) => isScalar(one) && !clusters.includes(letterOf(String(one.value))))
      .map((one) => ({
        ...document.placeOf(one),
        text: `the topology has no cluster ${String(isScalar(one) && one.value)}; it has ${clusters.join(', ')}`,
      }))
  })
}

const judgeStep = (step: Entry, at: Path, problem: Report): Problem[] => {
  const verbs = Object.keys(step).filter((key) => key in VERBS)
  const [verb = ''] = verbs
  if (verbs.length !== 1) {
    const said = verbs.length === 0 ? 'has none' : `has ${verbs.join(' and ')}`
    return [problem(at, `a step has exactly one verb; this one ${said}`)]
  }
  const value = step[verb]
  if (verb === 'checkpoint')
    return (value as Entry[]).flatMap((entry, index) => judgeFact(entry, [...at, verb, index], problem))
  const wrong = JUDGES[verb]?.(value as Entry) ?? []
  return wrong.map((text) => problem([...at, verb], text))
}

const judgeFact = (entry: Entry, at: Path, problem: Report): Problem[] => {
  const [about = ''] = Object.keys(entry)
  if (about in LOAD_EXPECTATIONS)
    return [problem(at, `"${about}" is known at the end only: it cannot stand in a checkpoint`)]
  return judgeExpectation(entry, at, true, problem)
}

const judgeExpectation = (entry: Entry, at: Path, hasLoad: boolean, problem: Report): Problem[] => {
  const names = Object.keys(entry).filter((key) => key in EXPECTATIONS)
  const [about = ''] = names
  if (names.length !== 1) return [problem(at, 'an expectation is a map with exactly one name')]
  if (about in LOAD_EXPECTATIONS && !hasLoad)
    return [problem(at, `"${about}" is measured by the load, and this drill has none: add "load: {}"`)]
  const wrong = JUDGES[`expect ${about}`]?.(entry[about] as Entry) ?? []
  return wrong.map((text) => problem([...at, about], text))
}

const has = (value: Entry, key: string): boolean => value[key] !== undefined

const lacks = (value: Entry, keys: readonly string[], why: string): string[] =>
  keys.filter((key) => !has(value, key)).map((key) => `${why} needs "${key}"`)

const twoClusters = ({ between }: Entry): string[] => {
  const [one, other, ...more] = between as string[]
  return one === other || more.length > 0 ? ['"between" must be two different clusters'] : []
}

const faultNeeds = (name: unknown): readonly string[] =>
  LINK_FAULTS[name as LinkFaultName].fields.filter(({ isOptional }) => !isOptional).map(({ key }) => key)

const WAIT_NEEDS: Readonly<Record<string, readonly string[]>> = {
  health: ['cluster', 'health'],
  status: ['cluster', 'kind', 'is'],
  lag: ['cluster', 'primary', 'kind', 'entries'],
  converged: [],
}

/** Rules for the values of a verb or expectation that the schema cannot express. */
const JUDGES: Readonly<Record<string, (value: Entry) => string[]>> = {
  fault: (value) => [...twoClusters(value), ...lacks(value, faultNeeds(value.name), String(value.name))],
  heal: (value) => (typeof value === 'object' ? twoClusters(value) : []),
  disk: (value) => (value.state === 'slow' ? lacks(value, ['delay'], 'a slow disk') : []),
  wait: (value) =>
    typeof value === 'object' ? lacks(value, WAIT_NEEDS[String(value.for)] ?? ['cluster'], `"for: ${value.for}"`) : [],
  join: ({ primary, secondary, kind, filter }) => [
    ...(primary === secondary ? ['a cluster cannot follow itself'] : []),
    ...(filter !== undefined && kind !== 'performance' ? ['only performance secondaries have filters'] : []),
  ],
  'update-primary': (value) =>
    ['primary', 'token', 'addresses'].filter((key) => has(value, key)).length === 1
      ? []
      : ['update-primary needs exactly one of "primary", "token" and "addresses"'],
  filter: (value) => (value.remove === true ? [] : lacks(value, ['mode', 'paths'], 'a filter that is not removed')),
  'expect rto': (value) =>
    has(value, 'at-most') || has(value, 'at-least') ? [] : ['rto needs "at-most" or "at-least"'],
  'expect metrics': (value) =>
    has(value, 'is') !== (value.absent === true) ? [] : ['metrics needs either "is" or "absent: true"'],
}

const nodeAt = (document: YamlDocument, at: Path): unknown => {
  const { isMap, isSeq } = loadYaml()
  let node: unknown = document.root
  for (const key of at) {
    const resolved = document.resolve(node)
    const pair = isMap(resolved)
      ? resolved.items.find((item: Yaml.Pair) => String(item.key) === String(key))
      : undefined
    const next = pair ? (pair.value ?? pair.key) : isSeq(resolved) ? resolved.items[Number(key)] : undefined
    if (next === undefined || next === null) return node
    node = next
  }
  return node
}
