import type { GenerationSlot } from '../../core/seal/generate-root.js'
import type { SealManager } from '../../core/seal/seal-manager.js'
import type { Barrier } from '../../storage/barrier/barrier.js'
import type { Store } from '../../storage/store/store.js'
import type { Following } from './following.js'
import type { OwnIdentity } from './cluster-identity.js'

/** The parts of a runtime that are there before its cluster is open: an open cluster stands on them. */
export interface RuntimeParts {
  readonly store: Store
  readonly barrier: Barrier
  readonly seal: SealManager
  readonly identity: OwnIdentity
  readonly generationSlot: GenerationSlot
  /** Of one of several nodes: how it keeps in step with their log. */
  readonly following: Following | undefined
}
