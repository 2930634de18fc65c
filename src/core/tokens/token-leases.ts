import type { Storage } from '../../logical/storage.js'
import { compareKeys } from '../../storage/engine/ordered-map.js'
import { parseTimeKey, TOKEN_KEYS } from './token-record.js'

/** Rows that are looked at in one go. */
const CHUNK = 1000

/** A row of a token that ends. */
interface LeaseRow {
  readonly key: string
  readonly storageId: string
}

/**
 * Tokens that end, by the paths where they were made. The rows of indexed ones lie below their paths; those of all others
 * lie in the order of their ends, and all of them are gone through: few ask for that, and every login would pay for a row more.
 */
export class TokenLeases {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** The names below a folder of lease ids: leases, and folders that end with a slash; sorted. */
  async list(namespaceId: string, folder: string): Promise<string[]> {
    const names = new Set(await this.#storage.list(TOKEN_KEYS.leases(namespaceId) + folder))
    for await (const rows of this.#timeRows(namespaceId, folder)) {
      for (const { leaseId } of rows) names.add(firstName(leaseId.slice(folder.length)))
    }
    return [...names].sort(compareKeys)
  }

  /**
   * The rows of lease ids that begin with `prefix`, some at a time. A token whose end comes to lie earlier meanwhile may be
   * passed over.
   */
  async *below(namespaceId: string, prefix: string): AsyncGenerator<readonly LeaseRow[]> {
    const keys = this.#pages(TOKEN_KEYS.leases(namespaceId) + prefix)
    for await (const page of keys) yield page.map((key) => ({ key, storageId: key.slice(key.lastIndexOf('/') + 1) }))
    yield* this.#timeRows(namespaceId, prefix)
  }

  async *#timeRows(
    namespaceId: string,
    prefix: string,
  ): AsyncGenerator<readonly (LeaseRow & { readonly leaseId: string })[]> {
    for await (const page of this.#pages(TOKEN_KEYS.times)) {
      const rows = page.flatMap((key) => {
        const { made, storageId } = parseTimeKey(key)
        if (made?.namespaceId !== namespaceId) return []
        const leaseId = `${made.path}/${storageId}`
        return leaseId.startsWith(prefix) ? [{ key, storageId, leaseId }] : []
      })
      if (rows.length > 0) yield rows
    }
  }

  async *#pages(prefix: string): AsyncGenerator<readonly string[]> {
    for (let after = ''; ; ) {
      const keys = await this.#storage.keys(prefix, { after, limit: CHUNK })
      yield keys
      if (keys.length < CHUNK) return
      after = keys.at(-1)?.slice(prefix.length) ?? ''
    }
  }
}

const firstName = (rest: string): string => {
  const slash = rest.indexOf('/')
  return slash < 0 ? rest : rest.slice(0, slash + 1)
}
