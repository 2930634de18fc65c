import type * as Yaml from 'yaml'
import { parseDurationMs } from '../../base/duration.js'
import {
  loadYaml,
  nodeAt,
  type Problem,
  readDocument,
  refuseProblems,
  type YamlDocument,
} from '../documents/yaml-document.js'
import { findSettingProblem } from '../model/settings.js'
import type { ClusterPlan, Link, SealPlan, Topology } from '../model/topology.js'
import { findTopologyProblems, type LinkFile, type PlanFile, type PositionOf, type TopologyFile } from './rules.js'
import { TOPOLOGY_SCHEMA } from './schema.js'

/** Parses a topology. Throws LabError `usage` with one `file:line:column: problem` line per problem. */
export const parseTopology = (text: string, file: string): Topology => {
  const { document, value } = readDocument(text, file, TOPOLOGY_SCHEMA)
  const given = value as TopologyFile
  const positionOf: PositionOf = (path) => document.placeOf(nodeAt(document, path))
  refuseProblems(file, [...findSettingProblems(document), ...findTopologyProblems(given, positionOf)])
  return toTopology(given)
}

/** Parses the text of a bundled topology, which needs no validation. */
export const readTopology = (text: string): Topology => toTopology(loadYaml().parse(text) as TopologyFile)

const toTopology = ({ name, about = '', defaults = {}, clusters, links = [] }: TopologyFile): Topology => {
  const plans = Object.entries(clusters).map(([cluster, plan]): [string, ClusterPlan] => [
    cluster,
    toPlan({ ...defaults, ...plan, settings: { ...defaults.settings, ...plan?.settings } }),
  ])
  return {
    name,
    about: about.trim(),
    clusters: Object.keys(clusters).sort(),
    links: links.map(toLink),
    plans: Object.fromEntries(plans.filter(([, plan]) => Object.keys(plan).length > 0)),
  }
}

const toPlan = ({ seal, settings = {}, ports, ...rest }: PlanFile): ClusterPlan => ({
  ...rest,
  ...(seal === undefined ? {} : { seal: parseSeal(seal) }),
  ...(Object.keys(settings).length === 0 ? {} : { settings }),
  ...(ports === undefined ? {} : { ports: { api: ports.api, cluster: ports.cluster ?? ports.api + 1 } }),
})

const parseSeal = (text: string): SealPlan => {
  const [, type, shares = '1', threshold = '1'] = /^(auto|shamir)(?: (\d+)\/(\d+))?$/.exec(text) ?? []
  return { type: type === 'auto' ? 'auto' : 'shamir', shares: Number(shares), threshold: Number(threshold) }
}

const toLink = ({ latency, jitter, ...rest }: LinkFile): Link => ({
  ...rest,
  ...(latency === undefined ? {} : { latencyMs: parseDurationMs(latency) ?? 0 }),
  ...(jitter === undefined ? {} : { jitterMs: parseDurationMs(jitter) ?? 0 }),
})

/** Returns a topology as JSON text, a subset of YAML, which `parseTopology` can read and validate. */
export const topologyDocument = ({ name, about, clusters, links, plans = {} }: Topology): string =>
  JSON.stringify({
    apiVersion: 'understudy/v1',
    kind: 'Topology',
    name,
    about,
    clusters: Object.fromEntries(clusters.map((cluster) => [cluster, planDocument(plans[cluster])])),
    links: links.map(linkDocument),
  })

const planDocument = ({ seal, ...rest }: ClusterPlan = {}) => ({
  ...rest,
  ...(seal && { seal: `${seal.type} ${seal.shares}/${seal.threshold}` }),
})

const linkDocument = ({ latencyMs, jitterMs, ...rest }: Link) => ({
  ...rest,
  ...(latencyMs !== undefined && { latency: `${latencyMs}ms` }),
  ...(jitterMs !== undefined && { jitter: `${jitterMs}ms` }),
})

/** Finds settings that the server does not know, in the defaults and in each cluster. */
const findSettingProblems = (document: YamlDocument): Problem[] => {
  const { isMap } = loadYaml()
  const clusters = nodeAt(document, ['clusters'])
  const names = isMap(clusters) ? clusters.items.map(({ key }) => String(key)) : []
  const paths = [['defaults', 'settings'], ...names.map((name) => ['clusters', name, 'settings'])]
  return paths.flatMap((path) => {
    const node = document.resolve(nodeAt(document, path))
    // For a path that does not exist, `nodeAt` returns the nearest node above it.
    const isThere = isMap(node) && nodeAt(document, path) !== nodeAt(document, path.slice(0, -1))
    return isThere ? (node as Yaml.YAMLMap).items.flatMap(({ key }) => settingProblem(document, key) ?? []) : []
  })
}

const settingProblem = (document: YamlDocument, key: unknown): Problem | undefined => {
  const text = findSettingProblem(String(key))
  return text === undefined ? undefined : { ...document.placeOf(key), text }
}
