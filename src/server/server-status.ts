import os from 'node:os'
import type { ClusterStatus } from '../core/status/cluster-status.js'
import type { ServerConfig } from './config/config.js'
import type { Runtime } from './runtime/runtime.js'

/** The values that status reads show, either of the runtime as it is or, while it is being rebuilt, as it was. */
type Reading = Pick<
  ClusterStatus,
  | 'clusterName'
  | 'clusterId'
  | 'replicationModes'
  | 'lastWal'
  | 'lastRemoteWal'
  | 'echoDurationMs'
  | 'clockSkewMs'
  | 'canaryAgeMs'
  | 'activeSinceMs'
>

const NOTHING: Reading = {
  clusterName: '',
  clusterId: '',
  replicationModes: { dr: 'disabled', performance: 'disabled' },
  lastWal: 0,
  lastRemoteWal: 0,
  echoDurationMs: 0,
  clockSkewMs: 0,
  canaryAgeMs: 0,
  activeSinceMs: undefined,
}

/** The status of the server through role changes: it answers in every state, and changes in one instant. */
export class ServerStatus implements ClusterStatus {
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly hostname = os.hostname()
  readonly reportedVersion: string
  readonly buildDate = BUILD_DATE
  readonly storageType: string
  readonly isHaEnabled: boolean
  readonly license: ServerConfig['own']['license']
  #read: () => Reading = () => NOTHING
  #isRestarting = false

  constructor(config: ServerConfig) {
    this.apiAddress = config.apiAddress
    this.clusterAddress = config.clusterAddress
    this.reportedVersion = config.own.reportedVersion
    this.storageType = config.storage.label
    this.isHaEnabled = config.storage.label !== 'file' && !config.disableClustering
    this.license = config.own.license
  }

  /** From now on shows this runtime. */
  follow(runtime: Runtime): void {
    this.#isRestarting = false
    this.#read = () => readRuntime(runtime)
  }

  /** Keeps showing what is true now, until the next runtime is followed. */
  freeze(): void {
    const reading = this.#read()
    this.#isRestarting = true
    this.#read = () => reading
  }

  /** While frozen: the cluster has decided to join a set. */
  showBootstrapping(kind: keyof Reading['replicationModes']): void {
    const reading = this.#read()
    const replicationModes = { ...reading.replicationModes, [kind]: 'bootstrapping' as const }
    this.#read = () => ({ ...reading, replicationModes })
  }

  get isRestarting(): boolean {
    return this.#isRestarting
  }
  get clusterName(): string {
    return this.#read().clusterName
  }
  get clusterId(): string {
    return this.#read().clusterId
  }
  get replicationModes(): Reading['replicationModes'] {
    return this.#read().replicationModes
  }
  get lastWal(): number {
    return this.#read().lastWal
  }
  get lastRemoteWal(): number {
    return this.#read().lastRemoteWal
  }
  get echoDurationMs(): number {
    return this.#read().echoDurationMs
  }
  get clockSkewMs(): number {
    return this.#read().clockSkewMs
  }
  get canaryAgeMs(): number {
    return this.#read().canaryAgeMs
  }
  get activeSinceMs(): number | undefined {
    return this.#read().activeSinceMs
  }
}

/** When the reported version came out; clients read it as a time. */
const BUILD_DATE = '2025-09-23T13:22:38Z'

const readRuntime = ({ identity, store, cluster }: Runtime): Reading => ({
  ...NOTHING,
  clusterName: identity.clusterName,
  clusterId: identity.clusterId,
  lastWal: store.position.index,
  ...(cluster && {
    replicationModes: cluster.replication.modes,
    lastRemoteWal: store.remotePosition?.index ?? 0,
    activeSinceMs: cluster.openedAtMs,
    echoDurationMs: cluster.replication.view.echoDurationMs,
    clockSkewMs: cluster.replication.view.clockSkewMs,
    canaryAgeMs: cluster.replication.view.canaryAgeMs,
  }),
})
