import { readAutopilot } from '../../core/system/autopilot-settings.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'
import { LogicalError } from '../../logical/errors.js'
import type { Storage } from '../../logical/storage.js'
import type { Member } from '../../storage/commit-log/etcd/etcd-api.js'
import type { EtcdMembers } from '../../storage/commit-log/etcd/etcd-members.js'
import type { SharedLog } from '../../storage/commit-log/shared-log.js'
import type { ServerConfig } from '../config/config.js'
import type { Contacts } from './contacts.js'
import type { WatchedServer } from './dead-servers.js'
import { clusterHost } from './peer-address.js'
import { peerUrl } from './own-etcd.js'
import { findPeer, listPeers, type PeerRecord } from './roster.js'

interface Sources {
  readonly members: EtcdMembers
  readonly sharedLog: Pick<SharedLog, 'nodes' | 'leader'>
  readonly contacts: Contacts
  readonly leaderId: string
}

/** Returns the single node of a cluster without other nodes. */
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

/** Returns the admitted nodes that are etcd members, with their health. Runs on the leader. */
export const findServers = async (storage: Storage, sources: Sources): Promise<readonly WatchedServer[]> => {
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

/** Returns the member of an admitted node; undefined if it has none any more. */
export const findMember = async (members: EtcdMembers, { peerAddress }: PeerRecord): Promise<Member | undefined> => {
  const url = peerUrl(peerAddress)
  return (await members.list()).find(({ peerURLs }) => peerURLs.includes(url))
}

/** Removes another node. Throws LogicalError 503 if the remaining members would be too few, or are unreachable. */
export const removeServer = async (storage: Storage, members: EtcdMembers, nodeId: string): Promise<void> => {
  const record = findPeer(storage, nodeId)
  if (!record) return
  const member = await findMember(members, record)
  try {
    if (member) await members.remove(member.ID)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause
    throw new LogicalError('unavailable', `the node "${nodeId}" could not be removed: ${reason}`, { cause })
  }
}
