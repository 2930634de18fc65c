import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { digestOf, type FilterRecord } from '../model/filter-record.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * The filter that the data of a performance secondary was last compared under. The one that is known may run ahead of it:
 * its record arrives before what it means, and a new registration has another one. Until the two agree, what is here is
 * not what it should be. Never leaves the cluster.
 */

/** `digest`: empty for no filter. */
export interface KnownFilter {
  readonly digest: string
  readonly record: FilterRecord | undefined
}

export const knownFilter = (record: FilterRecord | undefined): KnownFilter => ({
  digest: record ? digestOf(record) : '',
  record,
})

const NONE = knownFilter(undefined)
/** No filter has this digest. */
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

  /** `digest`: of the filter that is known now. */
  is(digest: string): boolean {
    return this.current.digest === digest
  }

  /** A comparison under the filter is complete, or only its names for the same things have changed. */
  async keep(known: KnownFilter): Promise<void> {
    const { digest, record } = this.current
    if (known.digest === digest && JSON.stringify(known.record) === JSON.stringify(record)) return
    await this.#storage.write((tx) => putJson(tx, KEYS.settledFilter, known))
  }

  /** A filter comes where there was none: until the next comparison nothing that is known agrees with what is here. */
  async doubt(): Promise<void> {
    if (this.current.digest === '') await this.#storage.write((tx) => putJson(tx, KEYS.settledFilter, DOUBTED))
  }

  /** Nobody feeds this cluster in that role any more: what is not here is not on its way. */
  async forget(): Promise<void> {
    if (this.current.digest === '') return
    await this.#storage.write((tx) => tx.delete(KEYS.settledFilter))
  }

  /** This key has changed. */
  invalidate(key: string): void {
    if (key === KEYS.settledFilter) this.#settled = undefined
  }
}
