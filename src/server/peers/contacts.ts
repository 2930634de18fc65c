import type { Clock } from '../../base/clock.js'
import type { AnnouncedNode } from '../../storage/shared-log/shared-log.js'
import type { AutopilotSettings } from '../../core/system/autopilot-settings.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'

interface Contact {
  /** The time in the node's last heartbeat; undefined before the first one. */
  readonly echoMs: number | undefined
  /** Monotonic time of this node. */
  readonly heardMs: number
  /** Wall-clock and monotonic time since when the node is healthy; undefined while it is not. */
  readonly stableSince: { readonly wallMs: number; readonly ms: number } | undefined
}

interface Sight {
  readonly announced: readonly AnnouncedNode[]
  readonly term: number
  /** Maximum time without contact for a healthy node. */
  readonly thresholdMs: number
}

interface Health {
  readonly isHealthy: boolean
  readonly lastContactMs: number
  readonly stableSinceMs: number | undefined
  readonly stableMs: number
}

/**
 * Records when the active node last received a heartbeat from each other node. All times are from the active node's clock,
 * since other clocks may be wrong. Until the first heartbeat of a node, the time counts from the first check in this term.
 */
export class Contacts {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #byNode = new Map<string, Contact>()
  #term = 0

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** Updates and returns the health of the cluster's nodes, in the given order. In a new term, forgets all earlier times. */
  see(nodeIds: readonly string[], { announced, term, thresholdMs }: Sight): readonly Health[] {
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
