import type { SealManager } from '../../core/seal/seal-manager.js'
import type { FreshStart } from '../../replication/host/host.js'
import type { Engine } from '../../storage/engine/engine.js'

/** Data that takes the place of what is there. */
export interface NewData {
  /** The root key of the new data, given that of the old; undefined when nobody here has the key. */
  readonly rootKeyAfter: (before: Buffer | undefined) => Buffer | undefined
  readonly prepare: (fresh: Engine, old: Engine) => Promise<void>
  /** The set to join as status reads show it, once it is decided. */
  readonly joining?: FreshStart['joining']
  /** Asked afterwards: whether the cluster's auto-unseal seal, if it has one, is to open the new data. */
  readonly opensItself?: () => boolean
}

/** How a node ceases to lead. */
export interface Ceasing {
  /** What is under way is finished before. */
  readonly isDrained: boolean
  /** Called when the store is closed. */
  readonly release: () => Promise<void>
}

/** How a runtime is replaced by another one, as far as what runs in it may ask for that. */
export interface RuntimeChanges {
  /** What is in place; undefined while it is being replaced. */
  readonly runtime: { readonly seal: Pick<SealManager, 'seal'> } | undefined
  /** Resolves when no change is under way. */
  settled(): Promise<void>
  /** Opens the cluster by its auto-unseal seal, if it has one: now, or as soon as that can be asked. */
  autoUnseal(): Promise<void>
  /** The runtime is built anew from its records. Returns at once. */
  restart(reason: string): void
  /**
   * From now on new writes of clients wait. Resolves when those that were under way have been answered, or have taken too
   * long; to be ended with `resumeWrites`, unless a restart follows.
   */
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /**
   * A new generation of the data and a new runtime on it. Resolves when the decision is durable; when it rejects, all is as
   * before, unless by OutcomeUnknown. Refused while another change runs, since what it was decided on would be gone when its turn comes.
   */
  replaceData(reason: string, next: NewData): Promise<void>
}
