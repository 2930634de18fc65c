/**
 * Operations on the SecretIDs of a role, in replicated or cluster-local storage. A write makes its decision inside the
 * transaction, with the current role and SecretID.
 */
import { invalid, LogicalError } from '../../logical/errors.js'
import { pagesOf, type ReadStorage, type Transaction } from '../../logical/storage.js'
import type { Role, Roles } from './roles.js'
import { hasExpired, type SecretId, type SecretIdStore } from './secret-id-records.js'

/** Returns the LogicalError 404 for a role that does not exist. `name` is the name in the request. */
export const noRole = (name: string): LogicalError =>
  new LogicalError('not-found', `role ${JSON.stringify(name)} does not exist`)

const REMOVALS_AT_ONCE = 500

/** A SecretID as it was before a login consumed one of its uses. */
export interface TakenUse {
  readonly secretId: SecretId
  /** Settles when the write that consumes the use ends; undefined for an unlimited SecretID. */
  readonly stored: Promise<void> | undefined
}

export class SecretIds {
  readonly #roles: Roles
  readonly #store: SecretIdStore
  readonly #role: Role
  readonly #nowMs: () => number

  /** `store` holds the SecretIDs of `role`. */
  constructor(role: Role, store: SecretIdStore, roles: Roles, nowMs: () => number) {
    this.#role = role
    this.#store = store
    this.#roles = roles
    this.#nowMs = nowMs
  }

  /**
   * Registers a SecretID. `decide` builds its record from the current role. Rejects with LogicalError 404 if the role
   * no longer exists, with 400 if the role already has this SecretID, and with the errors of `decide`.
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

  /** Finds a valid SecretID. If the accessor of the SecretID is missing, removes the SecretID and returns undefined. */
  find(secretId: string): Promise<SecretId | undefined> {
    return this.#findAt(this.#store.keyOf(this.#role, secretId))
  }

  /**
   * Consumes one use. The last use removes the SecretID. An unlimited SecretID does not change. Returns undefined if
   * the SecretID is invalid or exhausted. When the promise resolves, the write is queued but not yet durable: no other
   * login can consume the same use, and no later write becomes durable before it.
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
    // Prevents an unhandled rejection if the write fails before the caller awaits `stored`.
    stored.catch(() => undefined)
    return { secretId: record, stored }
  }

  /** Destroys a SecretID. Does nothing if the SecretID does not exist. */
  destroy(secretId: string): Promise<void> {
    const key = this.#store.keyOf(this.#role, secretId)
    return this.#store.storage.write((tx) => this.#store.removeAt(tx, key))
  }

  /**
   * Finds a SecretID by accessor. Returns `unknown` if no SecretID has this accessor, `foreign` if the SecretID belongs
   * to another role, otherwise the record.
   */
  async findByAccessor(accessor: string): Promise<SecretId | 'unknown' | 'foreign'> {
    const key = this.#store.findKey(accessor)
    if (key === undefined) return 'unknown'
    return this.#isOwn(key) ? ((await this.#findAt(key)) ?? 'unknown') : 'foreign'
  }

  /** Destroys the SecretID of an accessor if it belongs to this role. */
  destroyByAccessor(accessor: string): Promise<'destroyed' | 'unknown' | 'foreign'> {
    return this.#store.storage.write((tx) => {
      const key = this.#store.findKey(accessor, tx)
      if (key === undefined) return 'unknown'
      if (!this.#isOwn(key)) return 'foreign'
      this.#store.removeAt(tx, key)
      return 'destroyed'
    })
  }

  /** Returns the accessors of the SecretIDs that have not expired. */
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

  /**
   * Removes all SecretIDs with their accessors. The caller must remove the role first, so that no SecretID can be
   * added.
   */
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

  /** Consumes one use. Returns the record before the change; empty if the SecretID is unknown or has expired. */
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

  /** Returns the current role; undefined if the role was removed. A new role of the same name has another HMAC key. */
  #currentRole(tx: Transaction): Role | undefined {
    const reader: ReadStorage | undefined = this.#role.hasLocalSecretIds ? undefined : tx
    const role = this.#roles.find(this.#role.name, reader)
    return role?.hmacKey === this.#role.hmacKey ? role : undefined
  }
}
