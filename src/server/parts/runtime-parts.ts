import type { GenerationSlot } from '../../core/seal/generate-root.js'
import type { SealManager } from '../../core/seal/seal-manager.js'
import type { Barrier } from '../../storage/barrier/barrier.js'
import type { Store } from '../../storage/store/store.js'
import type { Following } from './following.js'
import type { OwnIdentity } from './cluster-identity.js'

/** The parts of a runtime that exist before its cluster is open, and on which the open cluster is built. */
export interface RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly identity: OwnIdentity
  readonly generationSlot: GenerationSlot
  /** On a node of a multi-node cluster: follows the shared log. */
  readonly following: Following | undefined
}
