import os from 'node:os'
import type { ActiveNode, ClusterStatus, NodeFacts } from '../../core/status/cluster-status.js'
import { readRecord } from '../../replication/model/state.js'
import type { ServerConfig } from '../config/config.js'
import type { Runtime } from './runtime.js'

/** The values of status reads: those of the current runtime or, while it is rebuilt, those from before. */
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
  | 'isFenced'
> & { readonly hasCopy: boolean }

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
  isFenced: false,
  hasCopy: false,
}

/** What the nodes of a cluster know about each other. */
type Membership = Pick<ClusterStatus, 'isStandby' | 'activeNode' | 'nodes'>
/** The status of the server across role changes: available in every state, and switched atomically. */
export class ServerStatus implements ClusterStatus {
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly hostname = os.hostname()
  readonly reportedVersion: string
  readonly buildDate = BUILD_DATE
  readonly storageType: string
  readonly isHaEnabled: boolean
  readonly isPlainDev: boolean
  readonly license: ServerConfig['own']['license']
  #membership: Membership = { isStandby: false, activeNode: this, nodes: async () => [this.#alone] }
  #reading: Reading = NOTHING
  #isRestarting = false
  #isRemoved = false

  constructor(config: ServerConfig) {
    this.apiAddress = config.apiAddress
    this.clusterAddress = config.clusterAddress
    this.reportedVersion = config.own.reportedVersion
    this.storageType = config.storage.label
    this.isHaEnabled = config.storage.label !== 'file' && !config.disableClustering
    this.isPlainDev = config.dev !== undefined && config.storage.label === 'inmem'
    this.license = config.own.license
  }

  /** Switches to the status of a node in a multi-node cluster. */
  join(membership: Membership): void {
    this.#membership = membership
  }

  /** Shows this runtime from now on. */
  follow(runtime: Runtime): void {
    this.#isRestarting = false
    this.#reading = new RuntimeReading(runtime)
  }

  /** Keeps the current values until the next `follow`, and reports a restart if the cluster was open. */
  freeze({ isOpen }: { readonly isOpen: boolean }): void {
    this.#isRestarting = isOpen
    this.#reading = frozen(this.#reading)
  }

  /** Shows that the cluster is joining a set. Call it only while frozen. */
  showBootstrapping(kind: keyof Reading['replicationModes']): void {
    const replicationModes = { ...this.#reading.replicationModes, [kind]: 'bootstrapping' as const }
    this.#reading = { ...frozen(this.#reading), replicationModes }
  }

  /** Reports that the other nodes have permanently removed this one. */
  remove(): void {
    this.#isRemoved = true
  }

  get isRemoved(): boolean {
    return this.#isRemoved
  }
  get isStandby(): boolean {
    return this.#membership.isStandby
  }
  get isPerformanceStandby(): boolean {
    return this.isStandby && this.#reading.hasCopy
  }
  get isFenced(): boolean {
    return this.#reading.isFenced
  }
  get activeNode(): ActiveNode | undefined {
    return this.#membership.activeNode
  }
  readonly nodes = (): Promise<readonly NodeFacts[]> => this.#membership.nodes()

  get isRestarting(): boolean {
    return this.#isRestarting
  }
  get clusterName(): string {
    return this.#reading.clusterName
  }
  get clusterId(): string {
    return this.#reading.clusterId
  }
  get replicationModes(): Reading['replicationModes'] {
    return this.#reading.replicationModes
  }
  get lastWal(): number {
    return this.#reading.lastWal
  }
  get lastRemoteWal(): number {
    return this.#reading.lastRemoteWal
  }
  get echoDurationMs(): number {
    return this.#reading.echoDurationMs
  }
  get clockSkewMs(): number {
    return this.#reading.clockSkewMs
  }
  get canaryAgeMs(): number {
    return this.#reading.canaryAgeMs
  }
  get activeSinceMs(): number | undefined {
    return this.#reading.activeSinceMs
  }

  /** The node of a single-node cluster, which is always active. */
  get #alone(): NodeFacts {
    const { hostname, apiAddress, clusterAddress, reportedVersion: version } = this
    return { hostname, apiAddress, clusterAddress, version, isActive: true, lastEchoMs: undefined }
  }
}

/** The release date of the reported version; clients parse it as a time. */
const BUILD_DATE = '2025-09-23T13:22:38Z'

/** The values of a runtime, each evaluated on access: health checks are frequent and need only a few. */
class RuntimeReading implements Reading {
  readonly #runtime: Runtime
  /** As stored; undefined until read. */
  #storedModes: Reading['replicationModes'] | undefined

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    runtime.store.onChange({
      roles: () => {
        this.#storedModes = undefined
      },
    })
  }

  get clusterName(): string {
    return this.#runtime.identity.clusterName
  }
  get clusterId(): string {
    return this.#runtime.identity.clusterId
  }
  get lastWal(): number {
    return this.#runtime.store.position.index
  }
  get replicationModes(): Reading['replicationModes'] {
    return this.#readable?.replication.modes ?? this.#modesOfStandby
  }
  get lastRemoteWal(): number {
    return (this.#readable && this.#runtime.store.remotePosition?.index) ?? 0
  }
  get activeSinceMs(): number | undefined {
    return this.#cluster?.openedAtMs
  }
  get echoDurationMs(): number {
    return this.#cluster?.replication.view.echoDurationMs ?? 0
  }
  get clockSkewMs(): number {
    return this.#cluster?.replication.view.clockSkewMs ?? 0
  }
  get canaryAgeMs(): number {
    return this.#cluster?.replication.view.canaryAgeMs ?? 0
  }

  get isFenced(): boolean {
    return this.#cluster?.replication.view.refusesWrites ?? false
  }

  get hasCopy(): boolean {
    return this.#runtime.copy !== undefined
  }

  /** A plain standby has no open cluster, but its cluster still has roles. */
  get #modesOfStandby(): Reading['replicationModes'] {
    const { barrier, following } = this.#runtime
    if (barrier.isSealed || !following) return NOTHING.replicationModes
    const storage = barrier.view('')
    this.#storedModes ??= {
      dr: readRecord(storage, 'dr').mode,
      performance: readRecord(storage, 'performance').mode,
    }
    return this.#storedModes
  }

  get #cluster(): Runtime['cluster'] {
    return this.#runtime.cluster
  }

  get #readable(): Runtime['cluster'] {
    return this.#runtime.cluster ?? this.#runtime.copy
  }
}

const frozen = (reading: Reading): Reading => ({
  clusterName: reading.clusterName,
  clusterId: reading.clusterId,
  replicationModes: reading.replicationModes,
  lastWal: reading.lastWal,
  lastRemoteWal: reading.lastRemoteWal,
  echoDurationMs: reading.echoDurationMs,
  clockSkewMs: reading.clockSkewMs,
  canaryAgeMs: reading.canaryAgeMs,
  activeSinceMs: reading.activeSinceMs,
  isFenced: reading.isFenced,
  hasCopy: false,
})
