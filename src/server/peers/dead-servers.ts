import type { AutopilotSettings } from '../../core/system/autopilot-settings.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'

/** A node, and how long it has been healthy without interruption. */
export interface WatchedServer extends RaftServer {
  readonly stableMs: number
}

const MS = 1000

/**
 * Returns the dead node to remove now; undefined if there is none, or if removal is not allowed. Only one at a time, so that
 * each decision considers the remaining nodes. A voter is removed only while healthy nodes hold a majority of the votes, and
 * while enough nodes remain that have been healthy for long enough.
 */
export const findDeadServer = (
  servers: readonly WatchedServer[],
  leaderId: string,
  settings: AutopilotSettings,
): string | undefined => {
  if (!settings.cleanup_dead_servers) return undefined
  const isDead = ({ nodeId, isHealthy, lastContactMs }: WatchedServer) =>
    nodeId !== leaderId && !isHealthy && lastContactMs >= settings.dead_server_last_contact_threshold * MS
  const voters = servers.filter(({ isVoter }) => isVoter)
  const healthy = voters.filter(({ isHealthy }) => isHealthy)
  const stable = healthy.filter(
    ({ nodeId, stableMs }) => nodeId === leaderId || stableMs >= settings.server_stabilization_time * MS,
  )
  const mayLoseVote = healthy.length > voters.length / 2 && stable.length >= settings.min_quorum
  return servers.find((server) => isDead(server) && (!server.isVoter || mayLoseVote))?.nodeId
}
