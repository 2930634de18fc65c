import { InProcessLab } from '../library/in-process-lab.js'
import { KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { requireKeys } from '../model/settings.js'
import type { ClusterPlan, Topology } from '../model/topology.js'
import { loadTopology } from '../topology/catalogue.js'
import { findTopologyProblems } from '../topology/rules.js'

/** Fields of labs. Clusters are properties of the lab too, so they cannot have these names, nor those of its methods. */
const FIELDS: readonly string[] = ['clock', 'clusters', 'history', 'keys', 'timeoutMs', 'topology']

const KNOWN: { readonly [Name in keyof Topology]-?: true } = {
  name: true,
  about: true,
  clusters: true,
  links: true,
  plans: true,
}

/** Returns a topology from a name, a file or an object. Throws LabError `usage` for other values from JavaScript. */
export const requireTopologyOf = (given: string | Topology): Topology => {
  if (typeof given === 'string') return loadTopology(given)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong(`a topology must be a name, a file or an object, not ${given === null ? 'null' : typeof given}`)
  requireKeys('field of a topology', given, Object.keys(KNOWN))
  const { name, clusters, links, plans = {} } = given
  if (typeof name !== 'string') throw wrong('a topology needs a "name"')
  if (!isListOfNames(clusters)) throw wrong(`the topology ${name} needs "clusters", a list of names`)
  if (!Array.isArray(links)) throw wrong(`the topology ${name} needs "links", a list; it may be empty`)
  const twice = clusters.find((cluster, index) => clusters.indexOf(cluster) < index)
  if (twice !== undefined) throw wrong(`the topology ${name} has two clusters "${twice}"`)
  const reserved = clusters.find(isReserved)
  if (reserved !== undefined) throw wrong(`the topology ${name} has a cluster "${reserved}": this name is reserved`)
  requireKeys(`cluster of the topology ${name} to plan`, plans, clusters)
  if (!links.every(isLink))
    throw wrong(`the topology ${name}: a link needs "kind" (dr, performance), "primary" and "secondary"`)
  const nodesOf = ({ nodes }: ClusterPlan = {}) => (nodes ? { nodes } : {})
  const file = { clusters: Object.fromEntries(clusters.map((name) => [name, nodesOf(plans[name])])), links }
  const [problem] = findTopologyProblems(file, () => ({ line: 0, column: 0 }))
  if (problem) throw wrong(`the topology ${name}: ${problem.text}`)
  return given
}

const isLink = (link: unknown): boolean => {
  const { kind, primary, secondary } = (link ?? {}) as Partial<Topology['links'][number]>
  return KINDS.some((one) => one === kind) && typeof primary === 'string' && typeof secondary === 'string'
}

const isListOfNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string' && name !== '')

/** Whether a name is reserved. A lab with `then` would be treated as a promise. */
const isReserved = (name: string): boolean => name === 'then' || FIELDS.includes(name) || name in InProcessLab.prototype

const wrong = (text: string): LabError => new LabError('usage', text)
