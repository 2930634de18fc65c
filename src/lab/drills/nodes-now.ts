import { withAnonymousClient } from '../model/cluster.js'
import type { LiveLab } from '../live/live-lab.js'
import { askNode, type NodeView } from '../status/node-view.js'

const ANSWER_MS = 1000

/** Returns the current state of a cluster's nodes, `A1` first. Empty if the cluster has a single server. */
export const viewNodes = (lab: LiveLab, name: string): Promise<NodeView[]> => {
  const cluster = lab.cluster(name)
  const { nodeAddresses = [] } = cluster
  return Promise.all(
    nodeAddresses.map((apiAddress, index) =>
      withAnonymousClient(
        { ...cluster, apiAddress },
        (client) => askNode({ name: `${name}${index + 1}`, apiAddress }, client),
        ANSWER_MS,
      ),
    ),
  )
}
