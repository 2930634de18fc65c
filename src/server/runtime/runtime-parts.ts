import type { GenerationSlot } from '../../core/seal/generate-root.js'
import type { SealManager } from '../../core/seal/seal-manager.js'
import type { Barrier } from '../../storage/barrier/barrier.js'
import type { Store } from '../../storage/store.js'
import type { OwnIdentity } from '../wiring/cluster-identity.js'

/** The parts of a runtime that are there before its cluster is open: an open cluster stands on them. */
export interface RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly identity: OwnIdentity
  readonly generationSlot: GenerationSlot
  /** Of a node that follows: true once it has all that is in the shared log by now; false where it waits no more. */
  reachEnd(waitMs: number): Promise<boolean>
}
