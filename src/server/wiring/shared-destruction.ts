import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { copyRest } from '../../storage/generations/live-copy.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { dataKey } from '../../storage/keys/raw-keys.js'
import type { RuntimeChanges } from '../parts/parts.js'

interface SharedDestructionOptions {
  readonly source: EngineSource
  readonly changes: Pick<RuntimeChanges, 'replaceData'>
  readonly log: Log
}

const MARK = dataKey(KEYS.purgeMark)

/**
 * Destroys data that is deleted but still in the log and the files of the nodes. A copy of the remaining data replaces
 * all data, in the log and on every node. The cluster is closed for a short time. If the destruction fails, the purge
 * mark remains, and the next runtime retries.
 */
export class SharedDestruction {
  readonly #options: SharedDestructionOptions
  #isRunning = false

  constructor(options: SharedDestructionOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /**
   * Starts the destruction of the data that the purge mark describes now. All of this data must already be deleted.
   * Returns immediately.
   */
  schedule(): void {
    const { source, log } = this.#options
    const mark = source.engine.get(MARK)
    if (!mark || this.#isRunning) return
    this.#isRunning = true
    this.#destroy(mark)
      .catch((error: unknown) => log.warn('cannot destroy filtered data yet, retrying after the next start', { error }))
      .finally(() => {
        this.#isRunning = false
      })
  }

  /** Does nothing: the destruction itself closes the runtime that owns this object. */
  async stop(): Promise<void> {}

  #destroy(mark: Buffer): Promise<void> {
    return this.#options.changes.replaceData('filtered data is destroyed', {
      rootKeyAfter: (rootKey) => rootKey,
      prepare: async (fresh, old) => {
        // If the mark has changed, more data must be destroyed, which may not be deleted yet.
        if (!old.get(MARK)?.equals(mark)) throw new LogicalError('unavailable', 'another filter is in effect')
        await copyRest(old, fresh, (key) => key === MARK)
      },
    })
  }
}
