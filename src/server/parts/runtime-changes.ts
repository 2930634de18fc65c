import type { SealManager } from '../../core/seal/seal-manager.js'
import type { FreshStart } from '../../replication/host/host.js'
import type { Engine } from '../../storage/engine/engine.js'

/** Data that replaces the current data. */
export interface NewData {
  /** Returns the root key of the new data, given that of the old; undefined if this server does not have it. */
  readonly rootKeyAfter: (before: Buffer | undefined) => Buffer | undefined
  readonly prepare: (fresh: Engine, old: Engine) => Promise<void>
  /** The set being joined, for status reads once it is decided. */
  readonly joining?: FreshStart['joining']
  /** Returns whether the auto-unseal seal, if any, may unseal the new data. Called after the change. */
  readonly opensItself?: () => boolean
}

/** How a node gives up leadership. */
export interface Ceasing {
  /** True if requests in progress complete first. */
  readonly isDrained: boolean
  /** Called when the store is closed. */
  readonly release: () => Promise<void>
}

/** Replaces the runtime, on behalf of parts that run inside it. */
export interface RuntimeChanges {
  /** The current runtime; undefined while it is being replaced. */
  readonly runtime: { readonly seal: Pick<SealManager, 'seal'> } | undefined
  /** Resolves when no change is in progress. */
  settled(): Promise<void>
  /** Unseals with the auto-unseal seal, if any: now, or as soon as the seal is reachable. */
  autoUnseal(): Promise<void>
  /** Rebuilds the runtime from its records. Returns immediately. */
  restart(reason: string): void
  /**
   * Makes new client writes wait. Resolves when those in progress have been answered, or after a timeout. End it with
   * `resumeWrites`, unless a restart follows.
   */
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /**
   * Creates a new generation of the data with a new runtime. Resolves when the decision is durable. If it rejects, nothing
   * has changed, except for OutcomeUnknown. Rejected during another change, since that would invalidate the data the
   * decision is based on.
   */
  replaceData(reason: string, next: NewData): Promise<void>
}
