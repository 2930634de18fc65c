import type { AutopilotSettings } from '../../core/system/autopilot-settings.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'

/** A node, and for how long it has been healthy without a break. */
export interface WatchedServer extends RaftServer {
  readonly stableMs: number
}

const MS = 1000

/**
 * The node that is to be taken out now because it is dead; undefined where there is none, or where that may not be. One at a
 * time, so that each is judged by what is left. One with a vote goes only while more than half of the votes are of healthy
 * nodes, and while enough are left that have been healthy for long enough.
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
