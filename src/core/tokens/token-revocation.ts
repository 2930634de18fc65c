import { deleteKeys } from '../../logical/storage.js'
import { leasesBelow } from './token-leases.js'
import { parseTimeKey, type StoredToken, TOKEN_KEYS, type TokenEntry } from './token-record.js'
import type { TokenTable } from './token-table.js'
import { DueSweep, type DueSweepOptions } from '../leases/due-sweep.js'
import type { LeaseStore } from '../leases/leases.js'

const CHUNK = 200

/** The number of leases revoked concurrently; their writes share durable batches. */
const REVOCATIONS_AT_ONCE = 64

/**
 * Revokes a token, its children, and their cubbyholes and leases. The first durable step marks the root of the tree as
 * expired. This invalidates the whole tree at once, since a token without a live parent is invalid. The next steps
 * remove the records, children before parents. A crash in between leaves a marked token, which the sweep removes.
 */
export class TokenRevocation {
  readonly #table: TokenTable
  readonly #leases: Pick<LeaseStore, 'endOwned'>

  constructor(table: TokenTable, leases: Pick<LeaseStore, 'endOwned'>) {
    this.#table = table
    this.#leases = leases
  }

  /** Resolves when the whole tree is removed. Does nothing if the token no longer exists. */
  async revokeTree(storageId: string): Promise<void> {
    if ((await this.#table.children(storageId, { limit: 1 })).length > 0) {
      await this.#mark(storageId)
      await this.#removeBelow(storageId)
    }
    await this.#removeAll([storageId])
    // Removes children that were created before the record of the parent was removed.
    await this.#removeBelow(storageId)
  }

  /** Creates the sweep that removes expired tokens. */
  createSweep(options: Pick<DueSweepOptions, 'storage' | 'clock' | 'log'>): DueSweep {
    return new DueSweep({
      ...options,
      prefix: TOKEN_KEYS.times,
      handle: (key, timeMs) => this.#revokeDue(key, timeMs),
      failure: 'expired tokens could not be removed',
    })
  }

  /** Revokes the token of a due row. If the token no longer refers to the row, deletes the row only. */
  async #revokeDue(key: string, timeMs: number): Promise<void> {
    const { storageId } = parseTimeKey(key)
    const isCurrent = this.#table.read(this.#table.storage, storageId)?.sweepAtMs === timeMs
    if (isCurrent) await this.revokeTree(storageId)
    else await this.#table.storage.write((tx) => tx.delete(key))
  }

  /** Revokes the tokens of leases whose IDs begin with `prefix`, or only those with the given storage IDs. */
  async revokeLeases(
    namespaceId: string,
    prefix: string,
    isChosen: (storageId: string) => boolean = () => true,
  ): Promise<void> {
    // The first pass may miss a token renewed to an earlier expiry in the meantime. The second pass finds it.
    for (let pass = 0; pass < 2; pass++) {
      for await (const rows of leasesBelow(this.#table.storage, namespaceId, prefix)) {
        const chosen = rows.filter(({ storageId }) => isChosen(storageId))
        for (let at = 0; at < chosen.length; at += REVOCATIONS_AT_ONCE) {
          const some = chosen.slice(at, at + REVOCATIONS_AT_ONCE)
          await Promise.all(some.map((row) => this.#revokeLease(row)))
        }
      }
    }
  }

  /** Revokes the token of a row, or deletes the row if its token no longer exists. */
  async #revokeLease({ key, storageId }: { readonly key: string; readonly storageId: string }): Promise<void> {
    await this.revokeTree(storageId)
    const { storage } = this.#table
    if (storage.has(key)) await storage.write((tx) => tx.delete(key))
  }

  /** Removes only the token: its children become orphans. */
  async revokeAndOrphan(entry: TokenEntry): Promise<void> {
    const { storageId } = entry
    await this.#change(storageId, (record) => ({ ...record, isClosing: true }))
    for (;;) {
      const children = await this.#table.children(storageId, { limit: CHUNK })
      if (children.length === 0) break
      await this.#table.storage.write((tx) => {
        for (const child of children) {
          const record = this.#table.read(tx, child)
          if (record) this.#table.replace(tx, child, record, { ...record, parent: '' })
          else tx.delete(TOKEN_KEYS.children(storageId) + child)
        }
      })
    }
    await this.#removeAll([storageId])
  }

  /**
   * Marks a token as expired. An expiry of 0 has passed on every clock, even if the clock is set back or is another
   * server's.
   */
  #mark(storageId: string): Promise<void> {
    return this.#change(storageId, (record) => ({ ...record, expiresAtMs: 0, sweepAtMs: 0 }))
  }

  #change(storageId: string, change: (record: StoredToken) => StoredToken): Promise<void> {
    return this.#table.storage.write((tx) => {
      const record = this.#table.read(tx, storageId)
      if (record) this.#table.replace(tx, storageId, record, change(record))
    })
  }

  /** Removes the tokens below `root`, depth-first without recursion, since clients determine the depth of the trees. */
  async #removeBelow(root: string): Promise<void> {
    const path = [root]
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      const children = await this.#table.children(at, { limit: CHUNK })
      const firstBranch = await this.#firstBranch(children)
      if (firstBranch > 0) await this.#removeAll(children.slice(0, firstBranch), at)
      const branch = children[firstBranch]
      if (branch !== undefined) path.push(branch)
      if (children.length > 0) continue
      const parent = path.at(-2)
      if (parent !== undefined) await this.#removeAll([at], parent)
      // Finds a child that was created in the meantime. By now the parent is removed, so it accepts no new children.
      if ((await this.#table.children(at, { limit: 1 })).length === 0) path.pop()
    }
  }

  /**
   * Returns the index of the first child that has children itself, or the number of children if there is no such child.
   */
  async #firstBranch(children: readonly string[]): Promise<number> {
    for (const [index, child] of children.entries()) {
      if ((await this.#table.children(child, { limit: 1 })).length > 0) return index
    }
    return children.length
  }

  /**
   * Removes records and cubbyholes in one transaction, and makes the leases of the tokens expire. Further transactions
   * remove data and leases that were added in the meantime.
   */
  async #removeAll(storageIds: readonly string[], parent?: string): Promise<void> {
    const inCubbyholes = (): Promise<string[][]> =>
      Promise.all(storageIds.map((id) => this.#table.storage.keys(TOKEN_KEYS.cubbyhole(id))))
    await this.#leases.endOwned(storageIds)
    const keys = (await inCubbyholes()).flat()
    await this.#table.storage.write((tx) => {
      for (const id of storageIds) {
        this.#table.remove(tx, id)
        // Deletes the row even if the child has no record. Otherwise `#removeBelow` would find the child forever.
        if (parent !== undefined) tx.delete(TOKEN_KEYS.children(parent) + id)
      }
      for (const key of keys) tx.delete(key)
    })
    const late = (await inCubbyholes()).flat()
    if (late.length > 0) await deleteKeys(this.#table.storage, late)
    await this.#leases.endOwned(storageIds)
  }
}
