import type { Facilities } from '../../base/facilities.js'
import { shortHash } from '../../crypto/digest.js'
import { invalid } from '../../logical/errors.js'
import type { Response } from '../../logical/request.js'
import type { JsonObject } from '../../logical/json.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { KEYS, type Tree } from '../../storage/keys/key-families.js'
import type { CorruptPages, ReplicableStore } from '../../storage/keys/replicable.js'
import { GUARDS } from '../model/guard-texts.js'
import { WARNINGS } from './texts.js'
import type { Kind } from '../model/types.js'

/** Returns the Merkle root that clusters of a kind compare: replicated data for performance, all data for DR. */
export const merkleRootOf = (store: Pick<ReplicableStore, 'trees'>, kind: Kind): Buffer => {
  const replicated = store.trees.replicated.root()
  return kind === 'performance' ? replicated : shortHash(Buffer.concat([replicated, store.trees.local.root()]))
}

interface ReindexOptions {
  /** If true, first compares the trees with the data and logs the differences. */
  readonly diff: boolean
  readonly skipFlush: boolean
  /**
   * If true, stops without a rebuild if the data itself is damaged. A rebuild would accept the remaining data as
   * correct, and secondaries would delete data that only they still have.
   */
  readonly needsWhole: boolean
}

interface MaintenanceRecord {
  readonly lastReindexMs: number
  readonly lastCheckMs: number | undefined
  readonly isCorrupted: boolean
}

export interface MaintenanceStatus {
  /** Time of the last rebuild in Unix milliseconds; 0 if there was none. */
  readonly lastReindexMs: number
  readonly isCorrupted: boolean
  /** Time of the last check in Unix milliseconds; undefined if there was none. */
  readonly lastCheckMs: number | undefined
  readonly reindex: { readonly stage: string; readonly done: number; readonly total: number } | undefined
}

interface MaintenanceOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly storage: Storage
  readonly store: Pick<ReplicableStore, 'trees' | 'examine' | 'rebuild'>
  /** Awaited before a rebuild, so that a lab can hold it. */
  readonly beforeReindex: (signal: AbortSignal) => Promise<void>
}

/** Rebuilds and checks the Merkle trees. At most one rebuild runs at a time, in the background. */
export class TreeMaintenance {
  readonly #options: MaintenanceOptions
  readonly #stopped = new AbortController()
  #progress: { stage: string; done: number; total: number } | undefined
  #running: Promise<void> | undefined

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  get isReindexing(): boolean {
    return this.#progress !== undefined
  }

  status(): MaintenanceStatus {
    const record = this.#record()
    return {
      lastReindexMs: record.lastReindexMs,
      isCorrupted: record.isCorrupted,
      lastCheckMs: record.lastCheckMs,
      reindex: this.#progress,
    }
  }

  /** Starts a rebuild in the background, and logs the result. Throws a 400 error if a rebuild is running. */
  startReindex(options: ReindexOptions): void {
    if (this.#progress) throw invalid(GUARDS.reindexRunning)
    this.#progress = { stage: 'building', done: 0, total: 0 }
    this.#running = this.#reindex(options)
      .catch((error: unknown) => this.#options.log.error('reindex failed', { error: String(error) }))
      .finally(() => {
        this.#progress = undefined
      })
  }

  /** Starts a rebuild, or joins a running one. Resolves when it has ended. */
  async reindexNow(): Promise<void> {
    if (!this.#progress) this.startReindex({ diff: false, skipFlush: false, needsWhole: false })
    await this.#running
  }

  /** Waits for the end of a running rebuild. */
  async settled(): Promise<void> {
    await this.#running
  }

  async #reindex({ diff, skipFlush, needsWhole }: ReindexOptions): Promise<void> {
    const { store, clock, log, beforeReindex } = this.#options
    const { signal } = this.#stopped
    await beforeReindex(signal)
    if (diff || needsWhole) {
      const { pages, damage } = await store.examine(signal)
      if (diff) log.info('compared trees with data', { ...countPages(pages) })
      if (needsWhole && damage.length > 0) {
        await this.#keep({ ...this.#record(), lastCheckMs: clock.now(), isCorrupted: true })
        throw invalid(GUARDS.damaged(damage))
      }
    }
    const onProgress = (done: number, total: number) => {
      this.#progress = { stage: 'building', done, total }
    }
    const found = await store.rebuild({ skipFlush, signal, onProgress })
    log.info('trees rebuilt', { ...countPages(found) })
    await this.#keep({ ...this.#record(), lastReindexMs: clock.now(), isCorrupted: false })
  }

  /** Compares both trees with the data. Resolves to the response of `merkle-check`. */
  async check(): Promise<Response> {
    const { clock, store, log } = this.#options
    const { pages: found, damage } = await store.examine(this.#stopped.signal)
    const nowMs = clock.now()
    const isCorrupted = found.replicated.size > 0 || found.local.size > 0 || damage.length > 0
    await this.#keep({ ...this.#record(), lastCheckMs: nowMs, isCorrupted })
    if (damage.length > 0) log.error('the data is damaged', { damage })
    const data = {
      merkle_corruption_report: {
        corrupted_root: isCorrupted,
        corrupted_tree_map: {
          '1': treeReport('replicated', found.replicated, store.trees.replicated.root()),
          '2': treeReport('local', found.local, store.trees.local.root()),
        },
        last_corruption_check_epoch: String(Math.floor(nowMs / 1000)),
      },
    }
    return damage.length > 0 ? { data, warnings: [WARNINGS.damaged(damage)] } : { data }
  }

  /** Aborts a running rebuild and waits for its end. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error('stopped'))
    await this.#running
  }

  #record(): MaintenanceRecord {
    return (
      readJson<MaintenanceRecord>(this.#options.storage, KEYS.treeMaintenance) ?? {
        lastReindexMs: 0,
        lastCheckMs: undefined,
        isCorrupted: false,
      }
    )
  }

  #keep(record: MaintenanceRecord): Promise<void> {
    return this.#options.storage.write((tx) => putJson(tx, KEYS.treeMaintenance, record))
  }
}

const countPages = (found: Readonly<Record<Tree, CorruptPages>>): { replicated: number; local: number } => ({
  replicated: found.replicated.size,
  local: found.local.size,
})

const treeReport = (type: Tree, pages: CorruptPages, root: Buffer): JsonObject => ({
  tree_type: type,
  corrupted_subtree_root: pages.size > 0,
  root_hash: root.toString('base64'),
  corrupted_index_tuples_map:
    pages.size === 0
      ? null
      : Object.fromEntries(
          [...pages].map(([page, subpages]) => [String(page), { corrupted: true, subpages: [...subpages] }]),
        ),
})
