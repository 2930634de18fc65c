import { requireValid } from '../documents/check.js'
import { InProcessLab } from '../library/in-process-lab.js'
import { LabError } from '../model/lab-error.js'
import { requireSettings } from '../model/settings.js'
import type { ClusterPlan, Topology } from '../model/topology.js'
import { loadTopology } from '../topology/catalogue.js'
import { findTopologyProblems } from '../topology/rules.js'
import { topologyObjectSchema } from '../topology/schema.js'

/** Fields of a lab. A cluster is also a property of the lab, so it cannot have the name of a field or of a method. */
const FIELDS: readonly string[] = ['clock', 'clusters', 'history', 'keys', 'timeoutMs', 'topology']

/** Returns a topology from a name, a file or an object. Throws LabError `usage` for other values from JavaScript. */
export const requireTopologyOf = (given: string | Topology): Topology => {
  if (typeof given === 'string') return loadTopology(given)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong(`a topology must be a name, a file or an object, not ${given === null ? 'null' : typeof given}`)
  const { name, clusters, links, plans = {} } = given
  const whose = typeof name === 'string' ? `the topology ${name}` : 'the topology'
  requireValid(whose, topologyObjectSchema(Array.isArray(clusters) ? clusters : []), given, 'it')
  for (const plan of Object.values(plans)) requireSettings(plan?.settings ?? {})
  const twice = clusters.find((cluster, index) => clusters.indexOf(cluster) < index)
  if (twice !== undefined) throw wrong(`the topology ${name} has two clusters "${twice}"`)
  const reserved = clusters.find(isReserved)
  if (reserved !== undefined) throw wrong(`the topology ${name} has a cluster "${reserved}": this name is reserved`)
  const nodesOf = ({ nodes }: ClusterPlan = {}) => (nodes ? { nodes } : {})
  const file = { clusters: Object.fromEntries(clusters.map((name) => [name, nodesOf(plans[name])])), links }
  const [problem] = findTopologyProblems(file, () => ({ line: 0, column: 0 }))
  if (problem) throw wrong(`the topology ${name}: ${problem.text}`)
  return given
}

/** Whether a name is reserved. A lab with `then` would be treated as a promise. */
const isReserved = (name: string): boolean => name === 'then' || FIELDS.includes(name) || name in InProcessLab.prototype

const wrong = (text: string): LabError => new LabError('usage', text)
