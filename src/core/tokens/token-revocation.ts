import { TokenLeases } from './token-leases.js'
import { type StoredToken, TOKEN_KEYS, type TokenEntry } from './token-record.js'
import type { TokenTable } from './token-table.js'

const CHUNK = 200

/** The number of leases that are revoked at once; their writes share durable batches. */
const REVOCATIONS_AT_ONCE = 64

/**
 * The end of tokens: a token, what it created, their cubbyholes and leases. First the root of the tree is marked as ended,
 * in one durable step, which kills all below it at once (a token without a live parent is none); then the records go,
 * children before parents. A crash in between leaves a marked token, which the sweep finds.
 */
export class TokenRevocation {
  readonly #table: TokenTable

  constructor(table: TokenTable) {
    this.#table = table
  }

  /** Resolves when nothing of the tree is left. A token that is gone is fine. */
  async revokeTree(storageId: string): Promise<void> {
    if ((await this.#table.children(storageId, { limit: 1 })).length > 0) {
      await this.#mark(storageId)
      await this.#removeBelow(storageId)
    }
    await this.#removeAll([storageId])
    // A child that was created in between found its parent alive, and is known by now.
    await this.#removeBelow(storageId)
  }

  /** Ends the tokens of the leases whose ids begin with `prefix`, or of those whose storage id is chosen. */
  async revokeLeases(
    namespaceId: string,
    prefix: string,
    isChosen: (storageId: string) => boolean = () => true,
  ): Promise<void> {
    // Who is renewed to an earlier end while the look goes on may be passed over, and is found by the second look.
    for (let look = 0; look < 2; look++) {
      for await (const rows of new TokenLeases(this.#table.storage).below(namespaceId, prefix)) {
        const chosen = rows.filter(({ storageId }) => isChosen(storageId))
        for (let at = 0; at < chosen.length; at += REVOCATIONS_AT_ONCE) {
          const some = chosen.slice(at, at + REVOCATIONS_AT_ONCE)
          await Promise.all(some.map((row) => this.#revokeLease(row)))
        }
      }
    }
  }

  /** Ends the token of a row; a row that leads to none goes alone. */
  async #revokeLease({ key, storageId }: { readonly key: string; readonly storageId: string }): Promise<void> {
    await this.revokeTree(storageId)
    const { storage } = this.#table
    if (storage.has(key)) await storage.write((tx) => tx.delete(key))
  }

  /** Removes the token alone: its children live on without a parent. */
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

  /** It has ended by every clock: by one that is set back, too, and by that of another server. */
  #mark(storageId: string): Promise<void> {
    return this.#change(storageId, (record) => ({ ...record, expiresAtMs: 0, sweepAtMs: 0 }))
  }

  #change(storageId: string, change: (record: StoredToken) => StoredToken): Promise<void> {
    return this.#table.storage.write((tx) => {
      const record = this.#table.read(tx, storageId)
      if (record) this.#table.replace(tx, storageId, record, change(record))
    })
  }

  /** Depth first without recursion: trees are as deep as clients care to make them. */
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
      // A child created while the look went on is found now; after this its parent is gone and no more can come.
      if ((await this.#table.children(at, { limit: 1 })).length === 0) path.pop()
    }
  }

  /** The place of the first child that has children itself; their number when none has. */
  async #firstBranch(children: readonly string[]): Promise<number> {
    for (const [place, child] of children.entries()) {
      if ((await this.#table.children(child, { limit: 1 })).length > 0) return place
    }
    return children.length
  }

  /** Records and cubbyholes in one transaction; what was put into a cubbyhole meanwhile goes in the next. */
  async #removeAll(storageIds: readonly string[], parent?: string): Promise<void> {
    const inCubbyholes = (): Promise<string[][]> =>
      Promise.all(storageIds.map((id) => this.#table.storage.keys(TOKEN_KEYS.cubbyhole(id))))
    const keys = (await inCubbyholes()).flat()
    await this.#table.storage.write((tx) => {
      for (const id of storageIds) {
        this.#table.remove(tx, id)
        // A row that leads to a token which is gone would be found for ever.
        if (parent !== undefined) tx.delete(TOKEN_KEYS.children(parent) + id)
      }
      for (const key of keys) tx.delete(key)
    })
    const late = (await inCubbyholes()).flat()
    if (late.length === 0) return
    await this.#table.storage.write((tx) => {
      for (const key of late) tx.delete(key)
    })
  }
}
