import { ApiClient } from '../client/api-client.js'

/** What is known of one running cluster; part of `lab.json`, readable by its owner alone. */
export interface ClusterRecord {
  readonly name: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly dataDir: string
  readonly logFile: string
  readonly pid: number
  /** Good on this cluster; empty for a DR secondary, which serves nobody until it is promoted. */
  readonly rootToken: string
  /** Hex. The shares that open this cluster: its own, or after joining those of its primary. */
  readonly unsealKeys: readonly string[]
  readonly threshold: number
}

export interface LabRecord {
  readonly name: string
  readonly topology: string
  readonly directory: string
  readonly clusters: readonly ClusterRecord[]
}

export const clientOf = (cluster: Pick<ClusterRecord, 'apiAddress' | 'rootToken'>): ApiClient =>
  new ApiClient({
    address: cluster.apiAddress,
    token: cluster.rootToken === '' ? undefined : cluster.rootToken,
    timeoutMs: 10_000,
  })
