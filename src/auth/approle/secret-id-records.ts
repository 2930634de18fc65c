/**
 * Stores SecretIDs, and the index that finds a SecretID by its accessor, in replicated or cluster-local storage. Each
 * transaction writes or removes both. The SecretID itself is not stored: the key of the record is an HMAC of the
 * SecretID with the HMAC key of its role.
 *
 * `<folder>/<HMAC of role>/<HMAC of SecretID>` contains the record. `<accessor folder>/<hash>` contains the key of the
 * record.
 */
import { LIMITS } from '../../base/limits.js'
import { remembered } from '../../base/remembered.js'
import { hmacSha256Hex } from '../../crypto/digest.js'
import { invalid } from '../../logical/errors.js'
import {
  putJson,
  putRecord,
  readJson,
  readRecord,
  type ReadStorage,
  type Storage,
  type Transaction,
} from '../../logical/storage.js'
import type { Role, Salt } from './roles.js'

/** The stored record of one SecretID. Does not contain the SecretID itself. */
export interface SecretId {
  /** The name of the role, which the tidy operation uses to check whether the role still exists. */
  readonly role: string
  readonly accessor: string
  /** Remaining uses. 0 means unlimited: a limited SecretID never has 0, because its last use removes the record. */
  readonly numUses: number
  /** The requested TTL, which the mount may cap. */
  readonly ttlSeconds: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Null if the SecretID does not expire. */
  readonly expiresAtMs: number | null
  readonly metadata: Readonly<Record<string, string>>
  readonly cidrList: readonly string[]
  readonly tokenBoundCidrs: readonly string[]
}

interface Folders {
  readonly secretIds: string
  readonly accessors: string
}

export const REPLICATED_FOLDERS: Folders = { secretIds: 'secret_id/', accessors: 'accessor/' }
export const LOCAL_FOLDERS: Folders = { secretIds: 'secret_id_local/', accessors: 'accessor_local/' }

export const hasExpired = ({ expiresAtMs }: SecretId, nowMs: number): boolean =>
  expiresAtMs !== null && expiresAtMs <= nowMs

/** Throws LogicalError 400 if the SecretID is too long. The error text starts with `prefix`. */
export const checkSecretIdLength = (secretId: string, prefix: string): void => {
  if (Buffer.byteLength(secretId) > LIMITS.hmacInputBytesMax) {
    throw invalid(`${prefix}: value is longer than maximum of ${LIMITS.hmacInputBytesMax} bytes`)
  }
}

export class SecretIdStore {
  readonly storage: Storage
  readonly folders: Folders
  readonly #salt: Salt
  /** Cached folders by role. The garbage collector removes an entry together with its role. */
  readonly #foldersOf = new WeakMap<Role, string>()

  constructor(storage: Storage, folders: Folders, salt: Salt) {
    this.storage = storage
    this.folders = folders
    this.#salt = salt
  }

  folderOf(role: Role): string {
    const hash = () => hmacSha256Hex(Buffer.from(role.hmacKey), role.name)
    return remembered(this.#foldersOf, role, () => `${this.folders.secretIds}${hash()}/`)
  }

  keyOf(role: Role, secretId: string): string {
    return this.folderOf(role) + hmacSha256Hex(Buffer.from(role.hmacKey), secretId)
  }

  read(key: string, reader: ReadStorage = this.storage): SecretId | undefined {
    return readRecord<SecretId>(reader, key)
  }

  /** Returns the storage key of the SecretID with this accessor, regardless of its role. */
  findKey(accessor: string, reader: ReadStorage = this.storage): string | undefined {
    const entry = readJson<{ key: string }>(reader, this.#accessorKey(accessor))
    return entry && this.folders.secretIds + entry.key
  }

  /** Returns whether the accessor of a SecretID exists. A SecretID without its accessor is invalid. */
  hasAccessor(record: SecretId, reader: ReadStorage = this.storage): boolean {
    return reader.get(this.#accessorKey(record.accessor)) !== undefined
  }

  /** Stores a new SecretID with its accessor. */
  add(tx: Transaction, key: string, record: SecretId): void {
    putJson(tx, key, record)
    putJson(tx, this.#accessorKey(record.accessor), { key: key.slice(this.folders.secretIds.length) })
  }

  /** Stores a changed SecretID. Its accessor stays the same. */
  update(tx: Transaction, key: string, record: SecretId): void {
    putRecord(tx, key, record)
  }

  remove(tx: Transaction, key: string, record: SecretId): void {
    tx.delete(key)
    tx.delete(this.#accessorKey(record.accessor))
  }

  /** Removes a SecretID by its storage key. Does nothing if the key no longer exists. */
  removeAt(tx: Transaction, key: string): void {
    const record = this.read(key, tx)
    if (record) this.remove(tx, key, record)
  }

  /** Returns whether this index key refers to an existing SecretID. */
  isAccessorUsed(accessorKey: string, reader: ReadStorage): boolean {
    const entry = readJson<{ key: string }>(reader, accessorKey)
    return entry !== undefined && reader.get(this.folders.secretIds + entry.key) !== undefined
  }

  #accessorKey(accessor: string): string {
    const hash = this.#salt.find(accessor)
    if (hash === undefined) throw new Error('the mount has no salt, because it has never had a role')
    return this.folders.accessors + hash
  }
}
