import { awaitChange } from '../../base/await-change.js'
import { PeriodicWork } from '../../base/periodic-work.js'
import { readAutopilot } from '../../core/system/autopilot-settings.js'
import { Contacts, findDeadServer, type WatchedServer } from './contacts.js'
import type { PeersContext } from './peers-context.js'
import { Revocation } from './revocation.js'
import type { EtcdMembers } from '../../storage/shared-log/etcd/etcd-members.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { Storage } from '../../logical/storage.js'
import type { Member } from '../../storage/shared-log/etcd/etcd-api.js'
import type { SharedLog } from '../../storage/shared-log/shared-log.js'
import type { ServerConfig } from '../config/config.js'
import { clusterHost, type EtcdProcess, peerUrl } from './etcd-process.js'
import type { NodeMembership } from '../parts/parts.js'
import { findPeer, listPeers, type PeerRecord } from './membership.js'

interface Sources {
  readonly members: EtcdMembers
  readonly sharedLog: Pick<SharedLog, 'nodes' | 'leader'>
  readonly contacts: Contacts
  readonly leaderId: string
}

export const aloneServer = (
  config: Pick<ServerConfig, 'storage' | 'clusterAddress' | 'own'>,
  { lastIndex, stableSinceMs }: Pick<RaftServer, 'lastIndex' | 'stableSinceMs'>,
): RaftServer => ({
  nodeId: config.storage.nodeId,
  clusterAddress: clusterHost(config),
  isVoter: true,
  isHealthy: true,
  lastContactMs: 0,
  stableSinceMs,
  lastIndex,
  term: 1,
  version: config.own.reportedVersion,
})

/** Returns the admitted nodes that are etcd members, with the health of each node. Runs on the leader. */
const findServers = async (storage: Storage, sources: Sources): Promise<readonly WatchedServer[]> => {
  const { members, sharedLog, contacts, leaderId } = sources
  const [records, all, announced] = await Promise.all([listPeers(storage), members.list(), sharedLog.nodes()])
  const term = sharedLog.leader?.term ?? 0
  const thresholdMs = readAutopilot(storage).last_contact_threshold * 1000
  const ids = records.map(({ nodeId }) => nodeId)
  const health = contacts.see(ids, { announced, term, thresholdMs })
  return records.flatMap(({ nodeId, peerAddress, clusterAddress }, at) => {
    const member = all.find(({ peerURLs }) => peerURLs.includes(peerUrl(peerAddress)))
    const seen = health[at]
    if (!member || !seen) return []
    const node = announced.find(({ id }) => id === nodeId)
    const known = {
      nodeId,
      clusterAddress,
      isVoter: !member.isLearner,
      lastIndex: node?.appliedIndex ?? 0,
      term,
      version: node?.version ?? '',
    }
    // The leader itself is always in contact.
    return [{ ...known, ...seen, ...(nodeId === leaderId && { isHealthy: true, lastContactMs: 0 }) }]
  })
}

/**
 * Removes a node from the cluster. Runs on the active node. `servers` are all nodes, including this one. Does nothing
 * in etcd if the node has no member. Rejects with LogicalError 400 if the cluster has no other node. Rejects with
 * LogicalError 503 if fewer than a majority of the other voters are healthy, or if etcd does not remove the member.
 */
export const removeNode = async (
  nodeId: string,
  context: PeersContext,
  servers: readonly RaftServer[],
  revokeRemoved: () => Promise<void>,
): Promise<void> => {
  const { etcd, node, storage, options } = context
  const { config, log } = options
  if (!etcd || !node || servers.length === 1) throw invalid('the only node of a cluster cannot be removed')
  const isOwn = nodeId === config.storage.nodeId
  const others = servers.filter((server) => server.isVoter && server.nodeId !== nodeId)
  if (isOwn && others.filter(({ isHealthy }) => isHealthy).length <= others.length / 2)
    throw new LogicalError(
      'unavailable',
      `the active node "${nodeId}" cannot be removed: fewer than a majority of the other voters are healthy`,
    )
  const record = findPeer(storage, nodeId)
  const member = record && (await findMember(etcd.members, record))
  if (isOwn) return member && removeOwn(member, context, { etcd, node })
  try {
    if (member) await etcd.members.remove(member.ID)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause
    throw new LogicalError('unavailable', `cannot remove the node "${nodeId}": ${reason}`, { cause })
  }
  await revokeRemoved()
  log.info('a node was removed from the cluster', { node: nodeId })
}

/** Returns the etcd member of an admitted node; undefined if the member was removed. */
const findMember = async (members: EtcdMembers, { peerAddress }: PeerRecord): Promise<Member | undefined> => {
  const url = peerUrl(peerAddress)
  return (await members.list()).find(({ peerURLs }) => peerURLs.includes(url))
}

/**
 * Removes this node, which is active. First, the node steps down. When another node leads, the background task removes
 * the etcd member of this node. A removed member could not release its lease, so writes would stop until the lease
 * expires. The record of this node has no effect after its member is removed.
 */
const removeOwn = (
  { ID }: Member,
  { options: { config, clock, log } }: PeersContext,
  { etcd, node }: { readonly etcd: EtcdProcess; readonly node: NodeMembership },
): void => {
  /** Resolves when another node leads, or when this node may stand for election again. */
  const led = awaitChange(
    (listener) => node.sharedLog.onLeader(listener),
    () => ![undefined, config.storage.nodeId].includes(node.sharedLog.leader?.nodeId),
    { clock, timeoutMs: config.own.stepDownRestMs },
  )
  node.stepDown()
  led
    .then(() => etcd.members.remove(ID))
    .catch((error: unknown) => log.error('cannot remove this node from its cluster', { error }))
}

/** Pause between two health checks, in ms. It is shorter than the interval of the nodes' heartbeats. */
const CHECK_MS = 1000

/**
 * Monitors the nodes of the cluster. On the active node, removes dead nodes if configured, and revokes the certificates
 * of removed nodes.
 */
export class Autopilot {
  readonly #context: PeersContext
  readonly #remove: (nodeId: string) => Promise<void>
  readonly #contacts: Contacts
  readonly #revocation: Revocation

  constructor(context: PeersContext, remove: (nodeId: string) => Promise<void>) {
    const { clock } = context.options
    this.#context = context
    this.#remove = remove
    this.#contacts = new Contacts(clock)
    this.#revocation = new Revocation(context)
    new PeriodicWork(() => this.#check()).start(clock, CHECK_MS, context.signal)
  }

  /** On the active node, deletes the records of nodes without an etcd member, and revokes their certificates. */
  readonly revokeRemoved = (): Promise<void> => this.#revocation.revokeRemoved()

  /** Returns the nodes with their health. Returns undefined if this server runs without etcd. Runs on the leader. */
  async servers(): Promise<readonly WatchedServer[] | undefined> {
    const { etcd, node, options, storage } = this.#context
    if (!etcd || !node) return undefined
    const leaderId = options.config.storage.nodeId
    return findServers(storage, {
      members: etcd.members,
      sharedLog: node.sharedLog,
      contacts: this.#contacts,
      leaderId,
    })
  }

  async #check(): Promise<void> {
    try {
      await this.#revocation.check()
      if (this.#context.isActive) await this.#removeDead()
    } catch (error) {
      this.#context.options.log.debug('cannot check the health of the nodes', { error })
    }
  }

  async #removeDead(): Promise<void> {
    const { config, log } = this.#context.options
    const servers = await this.servers()
    if (!servers) return
    const dead = findDeadServer(servers, config.storage.nodeId, readAutopilot(this.#context.storage))
    if (dead === undefined || !this.#context.isActive) return
    log.warn('removing a dead node from the cluster', { node: dead })
    await this.#remove(dead)
  }
}

/** Pause between two attempts to promote new members, in ms. */
const PROMOTION_MS = 500

/**
 * Promotes new etcd members to voters once they have caught up. Until then a new member has no vote, so it cannot block
 * the consensus.
 */
export class ClusterMaintenance {
  readonly #context: PeersContext
  #wasActive = false
  #mayHaveLearners = false

  constructor(context: PeersContext) {
    this.#context = context
    new PeriodicWork(() => this.#check()).start(context.options.clock, PROMOTION_MS, context.signal)
  }

  /** Resumes the promotion. The caller calls it after it added a member. */
  begin(): void {
    this.#mayHaveLearners = true
  }

  async #check(): Promise<void> {
    const { isActive, etcd, options } = this.#context
    const members = isActive ? etcd?.members : undefined
    // The previous active node may have left members without a vote.
    if (members && !this.#wasActive) this.#mayHaveLearners = true
    this.#wasActive = members !== undefined
    if (!members || !this.#mayHaveLearners) return
    try {
      this.#mayHaveLearners = !(await this.#promoteAll(members))
    } catch (error) {
      options.log.debug('cannot list the etcd members', { error })
    }
  }

  /** Promotes each member that has caught up. Returns true if there was nothing to promote. */
  async #promoteAll(members: EtcdMembers): Promise<boolean> {
    const learners = (await members.list()).filter(({ isLearner }) => isLearner)
    for (const { ID, name } of learners) {
      if (name === '') continue
      const isCaughtUp = await members.promote(ID).then(
        () => true,
        () => false,
      )
      if (isCaughtUp)
        this.#context.options.log.info('a new etcd member has caught up and was promoted to voter', { member: ID })
    }
    return learners.length === 0
  }
}
