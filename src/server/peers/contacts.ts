import type { Clock } from '../../base/clock.js'
import type { AnnouncedNode } from '../../storage/commit-log/shared-log.js'

interface Contact {
  /** What the node said of itself when it was last heard of; undefined where it has said nothing yet. */
  readonly echoMs: number | undefined
  /** By the clock here that no jump moves. */
  readonly heardMs: number
  /** Wall clock and monotonic clock of the moment from which it was healthy; undefined while it is not. */
  readonly stableSince: { readonly wallMs: number; readonly ms: number } | undefined
}

interface Sight {
  /** What the nodes that are there say of themselves. */
  readonly announced: readonly AnnouncedNode[]
  /** In which this node leads. */
  readonly term: number
  /** The silence that is too long. */
  readonly thresholdMs: number
}

/** How a node is, as the active one sees it. */
interface Health {
  readonly isHealthy: boolean
  readonly lastContactMs: number
  /** Wall clock. */
  readonly stableSinceMs: number | undefined
  /** How long it has been healthy without a break. */
  readonly stableMs: number
}

/**
 * When the active node last heard of each of the others. All times are its own: what the clocks of the others show may be wrong.
 * A node of which it has heard nothing yet has been silent for as long as this watch goes.
 */
export class Contacts {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #byNode = new Map<string, Contact>()
  #term = 0

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** Of the nodes that belong to the cluster, in their order. With another term it is another watch. */
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
