import { type ClusterPlan, type Link, planOf, type Topology } from '../model/topology.js'
import type { WiredClusters } from '../model/cluster.js'
import { KIND_WORDS } from '../model/kinds.js'
import { topologyOf } from './catalogue.js'

/** Returns a topology diagram, followed by the properties of clusters and links that differ from the defaults. */
export const describeTopology = (topology: Topology): string => {
  const { name, about, clusters, links } = topology
  const notes = [
    ...clusters.flatMap((cluster) => describePlan(planOf(topology, cluster)).map((text) => `${cluster}: ${text}`)),
    ...links.flatMap((link) => describeLink(link).map((text) => `${link.primary} to ${link.secondary}: ${text}`)),
  ]
  return [
    `${name}: ${about}`,
    '',
    drawTree(clusters, links, () => ''),
    ...(notes.length > 0 ? ['', ...notes] : []),
  ].join('\n')
}

const describePlan = ({ nodes = 1, storage = 'etcd', seal, settings, ports, reach, seed, ...plan }: ClusterPlan) =>
  [
    nodes > 1 && `${nodes} nodes${storage === 'raft' ? ' with storage "raft"' : ''}`,
    seal && `seal ${seal.type} ${seal.shares}/${seal.threshold}`,
    plan.license && `license ${plan.license}`,
    plan.version && `reports version ${plan.version}`,
    plan.tls && 'its API uses TLS',
    ports && `ports ${ports.api} and ${ports.cluster}`,
    reach === 'load-balancer' && 'other clusters reach it only through a load balancer',
    reach === 'cluster-port' && 'other clusters reach its cluster port, but not its API',
    settings &&
      `settings ${Object.entries(settings)
        .map((entry) => entry.join('='))
        .join(' ')}`,
    seed && `seed data: ${describeSeed(seed)}`,
  ].filter((text) => typeof text === 'string')

const describeSeed = (seed: NonNullable<ClusterPlan['seed']>): string =>
  Object.entries(seed)
    .map(([type, entries]) => `${type} ${Object.keys(entries ?? {}).join(', ')}`)
    .join('; ')

const describeLink = ({ activation, filter, latencyMs, jitterMs }: Link) =>
  [
    activation === 'public-key' && 'activated by public key',
    filter && `replicates ${filter.mode === 'allow' ? 'only' : 'all paths except'} ${filter.paths.join(', ')}`,
    latencyMs && `${latencyMs} ms in each direction${jitterMs ? ` ± ${jitterMs} ms` : ''}`,
  ].filter((text) => typeof text === 'string')

/** Draws the topology with which a lab was created, with the API address of each cluster. Omits later role changes. */
export const drawLab = (lab: WiredClusters): string =>
  drawTree(
    lab.clusters.map(({ name }) => name),
    topologyOf(lab)?.links ?? [],
    (name) => lab.clusters.find((cluster) => cluster.name === name)?.apiAddress ?? '',
  )

/** Draws a tree of primaries and their secondaries as plain text, one cluster per line. */
const drawTree = (clusters: readonly string[], links: readonly Link[], noteOf: (cluster: string) => string): string => {
  const draw = (name: string, indent: string): string[] => {
    const below = links.filter(({ primary }) => primary === name)
    return below.flatMap((link, index) => {
      const isLast = index === below.length - 1
      const line = `${indent}${isLast ? '└' : '├'}── ${KIND_WORDS[link.kind].padEnd(11)} ──▶ ${link.secondary}  ${noteOf(link.secondary)}`
      return [line.trimEnd(), ...draw(link.secondary, `${indent}${isLast ? ' ' : '│'}   `)]
    })
  }
  const secondaries = new Set(links.map(({ secondary }) => secondary))
  const roots = clusters.filter((name) => !secondaries.has(name))
  return roots.flatMap((name) => [`${name}  ${noteOf(name)}`.trimEnd(), ...draw(name, '')]).join('\n')
}
