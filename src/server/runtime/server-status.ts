import os from 'node:os'
import type { ActiveNode, ClusterFacts, ClusterStatus, NodeFacts } from '../../core/status/cluster-status.js'
import { readRecord } from '../../replication/model/state.js'
import type { ServerConfig } from '../config/config.js'
import type { Runtime } from './runtime.js'

/** The facts of the current runtime. While the runtime is replaced, the facts of the previous runtime. */
interface Facts extends ClusterFacts {
  readonly hasCopy: boolean
}

const NOTHING: Facts = {
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

/** The status of this node in its cluster, and of the other nodes. */
type Membership = Pick<ClusterStatus, 'isStandby' | 'activeNode' | 'nodes'>

/** The build date that the server reports. Clients parse it as a time. */
const BUILD_DATE = '2025-09-23T13:22:38Z'

/** The status of the server. It is available in every state, also during role changes. */
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
  #read: () => Facts = () => NOTHING
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

  /** Reports the status of a node in a multi-node cluster from now on. */
  join(membership: Membership): void {
    this.#membership = membership
  }

  follow(runtime: Runtime): void {
    this.#isRestarting = false
    this.#read = createReader(runtime)
  }

  /** Reports the current facts until the next `follow`. If `isOpen` is true, also reports a restart. */
  freeze({ isOpen }: { readonly isOpen: boolean }): void {
    this.#isRestarting = isOpen
    this.#keep(this.facts)
  }

  /** Reports that the cluster is joining a replication set. Requires a call of `freeze` before. */
  showBootstrapping(kind: keyof ClusterFacts['replicationModes']): void {
    const { facts } = this
    this.#keep({ ...facts, replicationModes: { ...facts.replicationModes, [kind]: 'bootstrapping' } })
  }

  /** Reports from now on that the other nodes have removed this node permanently. */
  remove(): void {
    this.#isRemoved = true
  }

  get facts(): ClusterFacts {
    return this.#read()
  }
  get isRemoved(): boolean {
    return this.#isRemoved
  }
  get isStandby(): boolean {
    return this.#membership.isStandby
  }
  get isPerformanceStandby(): boolean {
    return this.isStandby && this.#read().hasCopy
  }
  get activeNode(): ActiveNode | undefined {
    return this.#membership.activeNode
  }
  get isRestarting(): boolean {
    return this.#isRestarting
  }
  readonly nodes = (): Promise<readonly NodeFacts[]> => this.#membership.nodes()

  #keep(facts: ClusterFacts): void {
    this.#read = () => ({ ...facts, hasCopy: false })
  }

  /** The facts of the only node of a single-node cluster. This node is always active. */
  get #alone(): NodeFacts {
    const { hostname, apiAddress, clusterAddress, reportedVersion: version } = this
    return { hostname, apiAddress, clusterAddress, version, isActive: true, lastEchoMs: undefined }
  }
}

const createReader = (runtime: Runtime): (() => Facts) => {
  const { store, barrier, following } = runtime
  let storedModes: ClusterFacts['replicationModes'] | undefined
  store.onChange({
    roles: () => {
      storedModes = undefined
    },
  })
  /** A standby without a readable copy has no open cluster, but its cluster has roles. */
  const modesOfStandby = (): ClusterFacts['replicationModes'] => {
    if (barrier.isSealed || !following) return NOTHING.replicationModes
    const storage = barrier.view('')
    storedModes ??= { dr: readRecord(storage, 'dr').mode, performance: readRecord(storage, 'performance').mode }
    return storedModes
  }
  return () => {
    const { cluster, copy, identity } = runtime
    const readable = cluster ?? copy
    const view = cluster?.replication.view
    const primary = view?.primary
    return {
      clusterName: identity.clusterName,
      clusterId: identity.clusterId,
      replicationModes: readable?.replication.view.healthModes ?? modesOfStandby(),
      lastWal: store.position.index,
      lastRemoteWal: (readable && store.remotePosition?.index) ?? 0,
      echoDurationMs: Math.round(primary?.lastHeartbeatDurationMs ?? 0),
      clockSkewMs: Math.round(primary?.clockSkewMs ?? 0),
      canaryAgeMs: Math.round(primary?.canaryAgeMs ?? 0),
      activeSinceMs: cluster?.openedAtMs,
      isFenced: view?.refusesWrites ?? false,
      hasCopy: copy !== undefined,
    }
  }
}
