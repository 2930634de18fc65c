import type { RaftServer } from '../../core/system/raft-join-paths.js'
import { LogicalError } from '../../logical/errors.js'
import type { Storage } from '../../logical/storage.js'
import type { EtcdMembers } from '../../storage/commit-log/etcd/etcd-members.js'
import type { SharedLog } from '../../storage/commit-log/shared-log.js'
import type { ServerConfig } from '../config/config.js'
import { clusterHost } from './peer-address.js'
import { peerUrl } from './own-etcd.js'
import { findPeer, forgetPeer, keepPeer, listPeers } from './roster.js'

interface Sources {
  readonly members: EtcdMembers
  readonly sharedLog: Pick<SharedLog, 'nodes' | 'leader'>
  readonly nowMs: number
}

/** A node tells of itself every five seconds; one that was not heard of for longer than this is not well. */
const CONTACT_MS = 10_000

/** The one node of a cluster that has no others. */
export const aloneServer = (
  config: Pick<ServerConfig, 'storage' | 'clusterAddress' | 'own'>,
  lastIndex: number,
): RaftServer => ({
  nodeId: config.storage.nodeId,
  clusterAddress: clusterHost(config),
  isVoter: true,
  isHealthy: true,
  lastContactMs: 0,
  lastIndex,
  term: 1,
  version: config.own.reportedVersion,
})

/** Those that were let in and are members of the etcd, and how they are. */
export const findServers = async (
  storage: Storage,
  { members, sharedLog, nowMs }: Sources,
): Promise<readonly RaftServer[]> => {
  const [records, all, announced] = await Promise.all([listPeers(storage), members.list(), sharedLog.nodes()])
  return records.flatMap(({ nodeId, peerAddress, clusterAddress }) => {
    const member = all.find(({ peerURLs }) => peerURLs.includes(peerUrl(peerAddress)))
    if (!member) return []
    const node = announced.find(({ id }) => id === nodeId)
    const lastContactMs = node ? Math.max(0, nowMs - node.lastEchoMs) : 0
    return [
      {
        nodeId,
        clusterAddress,
        isVoter: !member.isLearner,
        isHealthy: node !== undefined && lastContactMs < CONTACT_MS,
        lastContactMs,
        lastIndex: node?.appliedIndex ?? 0,
        term: sharedLog.leader?.term ?? 0,
        version: node?.version ?? '',
      },
    ]
  })
}

/** Throws LogicalError 503 where the members that are left would be too few, or cannot be asked. */
export const removeServer = async (storage: Storage, members: EtcdMembers, nodeId: string): Promise<void> => {
  const record = findPeer(storage, nodeId)
  if (!record) return
  const url = peerUrl(record.peerAddress)
  const member = (await members.list()).find(({ peerURLs }) => peerURLs.includes(url))
  // Whoever removes itself can write nothing afterwards.
  await forgetPeer(storage, nodeId)
  try {
    if (member) await members.remove(member.ID)
  } catch (cause) {
    await keepPeer(storage, record)
    const reason = cause instanceof Error ? cause.message : cause
    throw new LogicalError('unavailable', `the node "${nodeId}" could not be removed: ${reason}`, { cause })
  }
}
