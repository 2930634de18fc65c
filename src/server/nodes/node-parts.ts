import type { Facilities } from '../../base/facilities.js'
import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { ResponseReservation } from '../../logical/request.js'
import type { PathRuleTable } from '../../logical/path-rules.js'
import type { Relayed } from '../../replication/forwarding/relayed-request.js'
import type { ClusterPort, ClusterTransport } from '../../replication/rpc/transport.js'
import type { SharedLog } from '../../storage/shared-log/shared-log.js'
import type { ServerConfig } from '../config/config.js'
import { RequestQueue } from '../runtime/admission.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'
import type { ServerStatus } from '../runtime/server-status.js'
import type { SimulationOverrides } from '../parts/parts.js'
import { systemRulesOf } from '../../core/system/system-rules.js'
import { replicationTimes } from '../wiring/replication-parts.js'
import { ActiveLink, findAuthority, readRevoked } from './node-authority.js'
import { ClusterNode } from './cluster-node.js'
import { Relay, Standby } from './standby.js'
import { createRelayService, RelayPort, StandbyPort } from './relay-service.js'

interface NodePartsOptions extends Facilities {
  readonly config: ServerConfig
  readonly status: ServerStatus
  readonly systemRules: PathRuleTable
  readonly transport: ClusterTransport
  readonly host: RuntimeHost
  readonly port: ClusterPort
  readonly requests: {
    handleRelayed(request: IncomingRequest, how: Omit<Relayed, 'request'>): Promise<Rendered>
    /** Serves requests about this node itself, in every state. */
    answerHere(request: IncomingRequest): Promise<Rendered>
  }
  /** Reserves memory budget for a large response to a standby until the call ends. */
  readonly reservationForCall: (ended: AbortSignal) => ResponseReservation
  readonly overrides: SimulationOverrides | undefined
}

/** Pause in milliseconds between attempts to reach an elected node that is not available yet. */
const PAUSE_MS = 100

/** The additional objects of a server that is a node of a multi-node cluster. */
export type NodeParts = ReturnType<typeof createNodeParts>

export const createNodeParts = (sharedLog: SharedLog, options: NodePartsOptions) => {
  const { config, status, host, requests, clock } = options
  const certificateKeys = options.overrides?.certificateKeys
  const times = replicationTimes(config)
  const queue = new RequestQueue({ clock, waitMs: config.own.roleChangeWaitMs })
  const wake = () => queue.wake()
  const relayService = createRelayService({
    ...options,
    serve: (request, how) => requests.handleRelayed(request, how),
    appliedIndex: () => host.runtime?.appliedIndex ?? 0,
    isRevoked: (serial) => {
      const { runtime } = host
      return runtime !== undefined && readRevoked(runtime.barrier)?.serials.includes(serial) === true
    },
  })
  const node = new ClusterNode({
    ...options,
    sharedLog,
    self: {
      id: config.storage.nodeId,
      hostname: status.hostname,
      apiAddress: config.apiAddress,
      clusterAddress: config.clusterAddress,
      version: config.own.reportedVersion,
    },
    restMs: config.own.stepDownRestMs,
    relayPort: new RelayPort({ ...options, certificateKeys, relayService }),
    onChange: () => {
      host.admission.wake()
      wake()
      standbyPort.update()
    },
  })
  const standbyPort = new StandbyPort({
    ...options,
    following: () => (node.state === 'standby' ? host.runtime : undefined),
    activeNode: () => node.otherActive,
  })
  const link = new ActiveLink({
    ...options,
    times,
    certificateKeys,
    authority: () => {
      const { runtime } = host
      return runtime && !runtime.barrier.isSealed ? findAuthority(runtime.barrier) : undefined
    },
  })
  const canServeLocally = () => node.isServing || node.isTakingOver
  const relay = new Relay({
    leftMs: (request) => queue.leftMs(request),
    activeNode: () => node.otherActive,
    awaitOther: (request, term) =>
      queue.pass(request, () => !canServeLocally() && [undefined, term].includes(node.otherActive?.term), PAUSE_MS),
    canServeLocally,
    connect: (active) => link.connect(active),
    reach: async (index) => {
      const { runtime } = host
      if (runtime?.copy) await runtime.following?.reach(index, config.replication.bestEffortWalWaitMs)
    },
    timeoutMs: times.forwardingTimeoutMs,
  })
  const standby = new Standby({
    membership: node,
    relay,
    copy: () => (node.state === 'standby' ? host.runtime?.wholeCopy : undefined),
    queue,
    rulesOf: (path) => systemRulesOf(options.systemRules, path),
    answerHere: (request) => requests.answerHere(request),
    admit: (request) => host.admission.admit(request),
  })
  const unsubscribe = sharedLog.onLeader(wake)
  return {
    node,
    standby,
    close: async () => {
      unsubscribe()
      link.close()
      await node.close()
    },
  }
}
