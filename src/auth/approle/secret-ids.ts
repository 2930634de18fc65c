/**
 * Operations on the SecretIDs of a role, wherever they are stored. Every decision is made inside of a transaction,
 * on the role and the SecretID of that moment.
 */
import { invalid, LogicalError } from '../../logical/errors.js'
import type { ReadStorage, Transaction } from '../../logical/storage.js'
import type { Role, Roles } from './roles.js'
import { hasExpired, pagesOf, type SecretId, type SecretIdStore } from './secret-id-records.js'

/** 404 for a role that is not there, by the name that was sent. */
export const noRole = (name: string): LogicalError =>
  new LogicalError('not-found', `role ${JSON.stringify(name)} does not exist`)

const REMOVALS_AT_ONCE = 500

/** A SecretID as it was before a use was taken of it. */
export interface TakenUse {
  readonly secretId: SecretId
  /** Settles with the write that has taken it; undefined for an unlimited one. */
  readonly stored: Promise<void> | undefined
}

export class SecretIds {
  readonly #roles: Roles
  readonly #store: SecretIdStore
  readonly #role: Role
  readonly #nowMs: () => number

  /** `store` is the one where the SecretIDs of `role` lie. */
  constructor(role: Role, store: SecretIdStore, roles: Roles, nowMs: () => number) {
    this.#role = role
    this.#store = store
    this.#roles = roles
    this.#nowMs = nowMs
  }

  /**
   * Registers a SecretID; `decide` makes its record from the role as it is then. Throws what `decide` throws, 404 when the
   * role has gone, and 400 when the value is one of the role's already.
   */
  add(secretId: string, decide: (role: Role) => SecretId): Promise<SecretId> {
    const key = this.#store.keyOf(this.#role, secretId)
    return this.#store.storage.write((tx) => {
      const role = this.#currentRole(tx)
      if (!role) throw noRole(this.#role.name)
      const record = decide(role)
      const before = this.#store.read(key, tx)
      if (before && !hasExpired(before, this.#nowMs())) {
        throw invalid('failed to store secret_id: SecretID is already registered')
      }
      if (before) this.#store.remove(tx, key, before)
      this.#store.add(tx, key, record)
      return record
    })
  }

  /** A SecretID that could be used now. One whose accessor is missing is removed on sight. */
  find(secretId: string): Promise<SecretId | undefined> {
    return this.#findAt(this.#store.keyOf(this.#role, secretId))
  }

  /**
   * Takes one use: the last one removes the SecretID, an unlimited one is not written at all. Undefined when there is none
   * (any more). The use is queued when this resolves: nobody else takes it, and what is written next is never durable without
   * it.
   */
  async use(secretId: string): Promise<TakenUse | undefined> {
    const key = this.#store.keyOf(this.#role, secretId)
    const seen = await this.#findAt(key)
    if (!seen) return undefined
    if (seen.numUses === 0) return { secretId: seen, stored: undefined }
    const taken: SecretId[] = []
    const stored = this.#store.storage.write((tx) => void taken.push(...this.#takeUse(tx, key)))
    const [record] = taken
    if (!record) {
      await stored
      return undefined
    }
    // Whoever waits for it may be waiting for something else when it fails.
    stored.catch(() => undefined)
    return { secretId: record, stored }
  }

  /** Nothing happens when there is no such SecretID. */
  destroy(secretId: string): Promise<void> {
    const key = this.#store.keyOf(this.#role, secretId)
    return this.#store.storage.write((tx) => this.#store.removeAt(tx, key))
  }

  /**
   * By accessor: `unknown` when no SecretID has it (any more), `foreign` when it is one of another role, else the record.
   */
  async findByAccessor(accessor: string): Promise<SecretId | 'unknown' | 'foreign'> {
    const key = this.#store.findKey(accessor)
    if (key === undefined) return 'unknown'
    return this.#isOwn(key) ? ((await this.#findAt(key)) ?? 'unknown') : 'foreign'
  }

  /** Destroys what an accessor belongs to, unless that is no SecretID of this role. */
  destroyByAccessor(accessor: string): Promise<'destroyed' | 'unknown' | 'foreign'> {
    return this.#store.storage.write((tx) => {
      const key = this.#store.findKey(accessor, tx)
      if (key === undefined) return 'unknown'
      if (!this.#isOwn(key)) return 'foreign'
      this.#store.removeAt(tx, key)
      return 'destroyed'
    })
  }

  /** The accessors of the SecretIDs that could be used now. */
  async accessors(): Promise<string[]> {
    const found: string[] = []
    for await (const keys of pagesOf(this.#store.storage, this.#store.folderOf(this.#role))) {
      for (const key of keys) {
        const record = this.#store.read(key)
        if (record && !hasExpired(record, this.#nowMs())) found.push(record.accessor)
      }
    }
    return found
  }

  /** Removes all with their accessors. The role must be gone by then, so that none can be added. */
  async clear(): Promise<void> {
    const { storage } = this.#store
    const folder = this.#store.folderOf(this.#role)
    for (;;) {
      const keys = await storage.keys(folder, { limit: REMOVALS_AT_ONCE })
      if (keys.length === 0) return
      await storage.write((tx) => {
        for (const key of keys) this.#store.removeAt(tx, key)
      })
    }
  }

  /** The record of which a use was taken, if there is one. */
  #takeUse(tx: Transaction, key: string): readonly SecretId[] {
    const record = this.#store.read(key, tx)
    if (!record || hasExpired(record, this.#nowMs())) return []
    if (record.numUses === 1) this.#store.remove(tx, key, record)
    if (record.numUses > 1) {
      this.#store.update(tx, key, { ...record, numUses: record.numUses - 1, updatedAtMs: this.#nowMs() })
    }
    return [record]
  }

  #isOwn(key: string): boolean {
    return key.startsWith(this.#store.folderOf(this.#role))
  }

  async #findAt(key: string): Promise<SecretId | undefined> {
    const record = this.#store.read(key)
    if (!record || hasExpired(record, this.#nowMs())) return undefined
    if (this.#store.hasAccessor(record)) return record
    await this.#store.storage.write((tx) => tx.delete(key))
    return undefined
  }

  /** A role of the same name that was made anew has another key: this one is gone then. */
  #currentRole(tx: Transaction): Role | undefined {
    const reader: ReadStorage | undefined = this.#role.hasLocalSecretIds ? undefined : tx
    const role = this.#roles.find(this.#role.name, reader)
    return role?.hmacKey === this.#role.hmacKey ? role : undefined
  }
}
