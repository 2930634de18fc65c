import type { GenerationSlot } from '../../core/seal/generate-root.js'
import type { SealManager } from '../../core/seal/seal-manager.js'
import type { Barrier } from '../../storage/barrier/barrier.js'
import type { Store } from '../../storage/store.js'
import type { OwnIdentity } from '../wiring/cluster-identity.js'

/** What of a runtime is there before its cluster is open, and is what an open cluster stands on. */
export interface RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly identity: OwnIdentity
  readonly generationSlot: GenerationSlot
}
