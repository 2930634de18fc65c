import type { RaftServer } from '../../core/system/raft-join-paths.js'
import { LogicalError } from '../../logical/errors.js'
import type { Storage } from '../../logical/storage.js'
import type { EtcdMembers } from '../../storage/commit-log/etcd/etcd-members.js'
import type { PeersHost, PeersOptions } from './peers-options.js'
import { findPeer } from './roster.js'
import { findMember, removeServer } from './servers.js'

interface RemovalOptions extends Pick<PeersOptions, 'config' | 'clock' | 'log'> {
  readonly node: NonNullable<PeersHost['node']>
  readonly storage: Storage
  readonly members: EtcdMembers
  /** The nodes of the cluster, including this one. */
  readonly servers: readonly RaftServer[]
  /** Deletes the records of nodes without an etcd member, and revokes their certificates. */
  readonly dismissGone: () => Promise<void>
}

/** Removes a node; runs on the leader. Rejects with LogicalError 503 if too few other nodes are present or reachable. */
export const removeNode = async (nodeId: string, options: RemovalOptions): Promise<void> => {
  const { config, storage, members, dismissGone, log } = options
  if (nodeId === config.storage.nodeId) return removeOwn(options)
  await removeServer(storage, members, nodeId)
  await dismissGone()
  log.info('a node was removed from the cluster', { node: nodeId })
}

/**
 * Removes the active node itself. It steps down, and its member is removed in the background once another node leads. A
 * removed member cannot release its lease, so otherwise writes would stop until the lease expires. The record of a node has
 * no effect without its member.
 */
const removeOwn = async (options: RemovalOptions): Promise<void> => {
  const { config, node, storage, members, servers, log } = options
  const { nodeId } = config.storage
  const others = servers.filter((server) => server.isVoter && server.nodeId !== nodeId)
  if (others.filter(({ isHealthy }) => isHealthy).length <= others.length / 2)
    throw new LogicalError('unavailable', `the node "${nodeId}" could not be removed: too few others are there`)
  const record = findPeer(storage, nodeId)
  const member = record && (await findMember(members, record))
  if (!member) return
  const led = awaitOther(options)
  node.stepDown()
  led
    .then(() => members.remove(member.ID))
    .catch((error: unknown) => log.error('this node could not be removed from its cluster', { error }))
}

/** Resolves when another node leads, or when this one may lead again. */
const awaitOther = ({ config, clock, node }: RemovalOptions): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      timer.cancel()
      unsubscribe()
      resolve()
    }
    const timer = clock.setTimer(config.own.stepDownRestMs, end)
    const unsubscribe = node.sharedLog.onLeader((leader) => {
      if (leader && leader.nodeId !== config.storage.nodeId) end()
    })
  })
