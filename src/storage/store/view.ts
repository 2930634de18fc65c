import type { ListOptions, Storage, Transaction } from '../../logical/storage.js'
import { compareKeys } from '../engine/ordered-map.js'
import type { KeyScan } from './key-scan.js'
import type { Written } from './store.js'

/** The barrier methods that a view uses. */
interface KeyedValues {
  get(key: string): Buffer | undefined
  has(key: string): boolean
  write<T>(fn: (tx: Transaction) => T, prefix: string): Promise<Written<T>>
  scanKeys(scan: KeyScan): AsyncIterable<readonly string[]>
}

/** Gives a backend access to the keys of a barrier below one prefix. The backend uses keys without this prefix. */
export class StorageView implements Storage {
  readonly #barrier: KeyedValues
  readonly #prefix: string

  constructor(barrier: KeyedValues, prefix: string) {
    this.#barrier = barrier
    this.#prefix = prefix
  }

  get(key: string): Buffer | undefined {
    return this.#barrier.get(this.#prefix + key)
  }

  has(key: string): boolean {
    return this.#barrier.has(this.#prefix + key)
  }

  async write<T>(fn: (tx: Transaction) => T): Promise<T> {
    return (await this.#barrier.write(fn, this.#prefix)).value
  }

  async keys(prefix: string, { after, limit }: ListOptions = {}): Promise<string[]> {
    const found: string[] = []
    const scan = {
      prefix: this.#prefix + prefix,
      ...(after === undefined ? {} : { after: this.#prefix + prefix + after }),
      ...(limit === undefined ? {} : { limit }),
    }
    for await (const chunk of this.#barrier.scanKeys(scan)) {
      for (const key of chunk) found.push(key.slice(this.#prefix.length))
    }
    return found
  }

  async list(prefix: string, { after, limit }: ListOptions = {}): Promise<string[]> {
    const below = this.#prefix + prefix
    const max = limit ?? Number.POSITIVE_INFINITY
    const names: string[] = []
    let behind = after === undefined ? undefined : endOfName(below + after)
    while (names.length < max) {
      const folder = await this.#listUntilLargeFolder(below, behind, after, names, max)
      if (folder === undefined) break
      behind = folder
    }
    return names
  }

  /**
   * Adds names until all keys are read, until there are `max` names, or until a folder continues after the end of a
   * chunk. In the last case, resolves to the key after the folder, because a new scan is cheaper than reading the keys
   * of a large folder.
   */
  async #listUntilLargeFolder(
    below: string,
    behind: string | undefined,
    after: string | undefined,
    names: string[],
    max: number,
  ): Promise<string | undefined> {
    const scan = { prefix: below, ...(behind === undefined ? {} : { after: behind }) }
    for await (const chunk of this.#barrier.scanKeys(scan)) {
      for (const key of chunk) {
        const name = firstName(key.slice(below.length))
        if (name === names.at(-1) || (after !== undefined && compareKeys(name, after) <= 0)) continue
        if (names.length >= max) return undefined
        names.push(name)
      }
      const last = names.at(-1)
      if (last?.endsWith('/') && chunk.at(-1)?.startsWith(below + last)) return endOfName(below + last)
    }
    return undefined
  }
}

const firstName = (rest: string): string => {
  const slash = rest.indexOf('/')
  return slash < 0 ? rest : rest.slice(0, slash + 1)
}

/** Returns the key after all keys of a folder (a name that ends with `/`), or the name itself if it is not a folder. */
const endOfName = (name: string): string => (name.endsWith('/') ? `${name.slice(0, -1)}/\uffff` : name)
