import type { Facilities } from '../../base/facilities.js'
import type { Recorder } from '../../base/meter.js'
import type { Random } from '../../base/random.js'
import type { CommitLog } from '../shared-log/commit-log.js'
import type { Engine } from '../engine/engine.js'

export interface StoreOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly engine: Engine
  /** The commit log (default: a `LocalCommitLog` for a standalone store). */
  readonly commitLog?: CommitLog
  readonly random?: Random
  /** If false, commits are acknowledged before they survive a power loss. */
  readonly syncWrites: boolean
  readonly walRetentionEntries: number
  readonly walRetentionBytes: number
  readonly ringBytes: number
  readonly recorder?: Recorder | undefined
}

export type CompleteStoreOptions = StoreOptions & { readonly commitLog: CommitLog }
