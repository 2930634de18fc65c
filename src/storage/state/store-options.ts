import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Recorder } from '../../base/meter.js'
import type { Random } from '../../base/random.js'
import type { CommitLog } from '../commit-log/commit-log.js'
import type { Engine } from '../engine/engine.js'

export interface StoreOptions {
  readonly engine: Engine
  /** By default the engine itself: the store is by itself. */
  readonly commitLog?: CommitLog
  readonly clock: Clock
  readonly log: Log
  readonly random?: Random
  /** False answers writes before they survive power loss. */
  readonly syncWrites: boolean
  readonly walRetentionEntries: number
  readonly walRetentionBytes: number
  readonly ringBytes: number
  /** Counts and times what is written. */
  readonly recorder?: Recorder | undefined
}

export type CompleteStoreOptions = StoreOptions & { readonly commitLog: CommitLog }
