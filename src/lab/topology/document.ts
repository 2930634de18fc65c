import type { ClusterPlan, Link, Topology } from '../model/topology.js'

/** Returns a topology as JSON text, a subset of YAML, which `parseTopology` can read and validate. */
export const topologyDocument = ({ name, about, clusters, links, plans = {} }: Topology): string =>
  JSON.stringify({
    apiVersion: 'understudy/v1',
    kind: 'Topology',
    name,
    about,
    clusters: Object.fromEntries(clusters.map((cluster) => [cluster, planIn(plans[cluster])])),
    links: links.map(linkIn),
  })

const planIn = ({ seal, ...rest }: ClusterPlan = {}) => ({
  ...rest,
  ...(seal && { seal: `${seal.type} ${seal.shares}/${seal.threshold}` }),
})

const linkIn = ({ latencyMs, jitterMs, ...rest }: Link) => ({
  ...rest,
  ...(latencyMs !== undefined && { latency: `${latencyMs}ms` }),
  ...(jitterMs !== undefined && { jitter: `${jitterMs}ms` }),
})
