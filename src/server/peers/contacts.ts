import type { Clock } from '../../base/clock.js'
import type { AnnouncedNode } from '../../storage/shared-log/shared-log.js'
import type { AutopilotSettings } from '../../core/system/autopilot-settings.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'

interface Contact {
  /** The timestamp that the node's last heartbeat contains; undefined before the first heartbeat. */
  readonly echoMs: number | undefined
  /** Time at which the active node received the last heartbeat, in ms of its monotonic clock. */
  readonly heardMs: number
  /** Wall-clock and monotonic time at which the node became healthy; undefined while it is unhealthy. */
  readonly stableSince: { readonly wallMs: number; readonly ms: number } | undefined
}

interface Observation {
  readonly announced: readonly AnnouncedNode[]
  readonly term: number
  /** Maximum time without contact, in ms, after which a node counts as unhealthy. */
  readonly thresholdMs: number
}

interface Health {
  readonly isHealthy: boolean
  readonly lastContactMs: number
  readonly stableSinceMs: number | undefined
  readonly stableMs: number
}

/**
 * Records when the active node last received a heartbeat from each other node. All times are from the clock of the
 * active node, since the clocks of other nodes may be wrong. If a node has not yet sent a heartbeat, its time without
 * contact counts from the first check in this term.
 */
export class Contacts {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #byNode = new Map<string, Contact>()
  #term = 0

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** Updates the health of these nodes, and returns it in the given order. A new term discards all earlier times. */
  see(nodeIds: readonly string[], { announced, term, thresholdMs }: Observation): readonly Health[] {
    const ms = this.#clock.monotonic()
    const before = this.#term === term ? this.#byNode : new Map<string, Contact>()
    this.#term = term
    this.#byNode = new Map()
    return nodeIds.map((nodeId) => {
      const echoMs = announced.find(({ id }) => id === nodeId)?.lastEchoMs
      const known = before.get(nodeId) ?? { echoMs: undefined, heardMs: ms, stableSince: undefined }
      const isHeard = echoMs !== undefined && echoMs !== known.echoMs
      const heardMs = isHeard ? ms : known.heardMs
      const lastContactMs = ms - heardMs
      const isHealthy = echoMs !== undefined && lastContactMs < thresholdMs
      const stableSince = isHealthy ? (known.stableSince ?? { wallMs: this.#clock.now(), ms }) : undefined
      this.#byNode.set(nodeId, { echoMs: echoMs ?? known.echoMs, heardMs, stableSince })
      const stableMs = stableSince ? ms - stableSince.ms : 0
      return { isHealthy, lastContactMs, stableSinceMs: stableSince?.wallMs, stableMs }
    })
  }
}

/** A node with the time for which it has been healthy without interruption, in ms. */
export interface WatchedServer extends RaftServer {
  readonly stableMs: number
}

const MS = 1000

/**
 * Returns the ID of the dead node to remove now. Returns undefined if no node is dead, or if no removal is allowed.
 * Returns only one node at a time, so that each decision considers the remaining nodes. A voter is removed only if both
 * conditions hold:
 * - Healthy nodes hold a majority of the votes.
 * - At least `min_quorum` voters have been healthy for `server_stabilization_time`.
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
