import { ApiClient } from '../client/api-client.js'

/** What one needs to work on a cluster, wherever it runs. */
export interface ClusterAccess {
  readonly name: string
  readonly apiAddress: string
  /** Good on this cluster; empty for a DR secondary, which serves nobody until it is promoted. */
  readonly rootToken: string
  /** Hex. The shares that open this cluster: its own, or after joining those of its primary. */
  readonly unsealKeys: readonly string[]
  readonly threshold: number
}

/** A cluster that runs as a process of this machine; part of `lab.json`, readable by its owner alone. */
export interface ClusterRecord extends ClusterAccess {
  readonly clusterAddress: string
  readonly dataDir: string
  readonly logFile: string
  readonly pid: number
}

/** Clusters that stand in a topology; `topology` is its name. */
export interface WiredClusters {
  readonly topology: string
  readonly clusters: readonly ClusterAccess[]
}

export interface LabRecord extends WiredClusters {
  readonly name: string
  readonly directory: string
  readonly clusters: readonly ClusterRecord[]
}

export const clientOf = (cluster: Pick<ClusterAccess, 'apiAddress' | 'rootToken'>): ApiClient =>
  new ApiClient({
    address: cluster.apiAddress,
    token: cluster.rootToken === '' ? undefined : cluster.rootToken,
    timeoutMs: 10_000,
  })
