import type { Storage } from '../../logical/storage.js'
import { compareKeys } from '../../storage/engine/ordered-map.js'
import { parseTimeKey, TOKEN_KEYS } from './token-record.js'

/** Rows read at a time. */
const CHUNK = 1000

/** A row of a token with an expiry. */
interface LeaseRow {
  readonly key: string
  readonly storageId: string
}

/**
 * Tokens with an expiry, by creation path. Rows of indexed tokens are stored below their paths. Rows of all others are
 * ordered by expiry, and a listing reads all of them. Listings are rare, and an extra row would slow down every login.
 */
export class TokenLeases {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** Returns the names below a folder of lease IDs, sorted: leases, and folders with a trailing slash. */
  async list(namespaceId: string, folder: string): Promise<string[]> {
    const names = new Set(await this.#storage.list(TOKEN_KEYS.leases(namespaceId) + folder))
    for await (const rows of this.#timeRows(namespaceId, folder)) {
      for (const { leaseId } of rows) names.add(firstName(leaseId.slice(folder.length)))
    }
    return [...names].sort(compareKeys)
  }

  /**
   * Yields the rows of lease IDs that begin with `prefix`, in chunks. May miss a token whose expiry is moved earlier in the
   * meantime.
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
