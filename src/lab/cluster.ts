import { ApiClient } from '../client/api-client.js'
import type { Route } from './keeper/routes.js'
import type { ProcessIdentity } from './lifecycle/process-identity.js'
import type { PortPair } from './ports.js'

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
  readonly ports: PortPair
  readonly dataDir: string
  readonly logFile: string
  /** Its name holds a random word, by which the process is known as this cluster's server. */
  readonly configFile: string
  /** The process as it was started last; null before the first start. */
  readonly process: ProcessIdentity | null
}

/** Clusters that stand in a topology; `topology` is its name. */
export interface WiredClusters {
  readonly topology: string
  readonly clusters: readonly ClusterAccess[]
}

/** Clusters that belong together, wherever they run. */
export interface LabAccess {
  readonly name: string
  readonly clusters: readonly ClusterAccess[]
}

/** The background process of a lab, which holds its links; see `keeper/`. */
export interface KeeperRecord {
  readonly configFile: string
  readonly logFile: string
  /** Where its control listens. */
  readonly socket: string
  readonly routes: readonly Route[]
  readonly process: ProcessIdentity | null
}

/** `starting` until everything is replicated; `failed` when that went wrong and only logs are left. */
export type LabState = 'starting' | 'running' | 'failed'

export interface LabRecord extends WiredClusters {
  readonly apiVersion: 'understudy/v1'
  readonly name: string
  readonly state: LabState
  /** ISO 8601. */
  readonly createdAt: string
  /** Who started it. */
  readonly owner: ProcessIdentity
  /** Where the lab is remembered, and its logs. */
  readonly directory: string
  /** Where the data of all clusters lies: the same directory unless somebody chose another. */
  readonly dataRoot: string
  readonly keeper: KeeperRecord
  readonly clusters: readonly ClusterRecord[]
}

export const clientOf = (cluster: Pick<ClusterAccess, 'apiAddress' | 'rootToken'>): ApiClient =>
  new ApiClient({
    address: cluster.apiAddress,
    token: cluster.rootToken === '' ? undefined : cluster.rootToken,
    timeoutMs: 10_000,
  })
