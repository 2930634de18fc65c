import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { digestOf, type FilterRecord } from '../model/filter-record.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The settled filter is the filter that was in effect when a performance secondary last compared its data with the
 * primary. The current filter may be newer, because its record arrives before the data changes, or because the
 * registration of the secondary has changed. While the two filters differ, the stored data does not match the current
 * filter. The record of the settled filter never leaves the cluster.
 */

/** A filter with its digest. Without a filter, the digest is empty and the record is undefined. */
export interface KnownFilter {
  readonly digest: string
  readonly record: FilterRecord | undefined
}

export const knownFilter = (record: FilterRecord | undefined): KnownFilter => ({
  digest: record ? digestOf(record) : '',
  record,
})

const NONE = knownFilter(undefined)
/** The settled filter while the data is unsettled. Its digest differs from that of every filter. */
const DOUBTED: KnownFilter = { digest: 'doubted', record: undefined }

export class SettledFilter {
  readonly #storage: Storage
  #settled: KnownFilter | undefined

  constructor(storage: Storage) {
    this.#storage = storage
  }

  get current(): KnownFilter {
    this.#settled ??= readJson<KnownFilter>(this.#storage, KEYS.settledFilter) ?? NONE
    return this.#settled
  }

  /** Returns true if the last comparison used the filter with this digest. */
  is(digest: string): boolean {
    return this.current.digest === digest
  }

  /** Stores the settled filter after a completed comparison, or after a move that changed only paths of its rule. */
  async keep(known: KnownFilter): Promise<void> {
    const { digest, record } = this.current
    if (known.digest === digest && JSON.stringify(known.record) === JSON.stringify(record)) return
    await this.#storage.write((tx) => putJson(tx, KEYS.settledFilter, known))
  }

  /** Marks the data as unsettled until the next comparison. Called when the first filter is set. */
  async doubt(): Promise<void> {
    if (this.current.digest === '') await this.#storage.write((tx) => putJson(tx, KEYS.settledFilter, DOUBTED))
  }

  /** Deletes the record when this cluster stops being a performance secondary, because no more data will arrive. */
  async forget(): Promise<void> {
    if (this.current.digest === '') return
    await this.#storage.write((tx) => tx.delete(KEYS.settledFilter))
  }

  invalidate(key: string): void {
    if (key === KEYS.settledFilter) this.#settled = undefined
  }
}
