/**
 * SecretID records and the index that finds one by its accessor, in the replicated storage or in that of this cluster. A
 * SecretID and its accessor are written and removed in one transaction. The SecretID itself is stored nowhere: its key is
 * an HMAC under the key of its role.
 *
 * `<folder>/<HMAC of role>/<HMAC of SecretID>` holds the record, `<accessor folder>/<hash>` the key of the record.
 */
import { LIMITS } from '../../base/limits.js'
import { hmacSha256Hex } from '../../crypto/hmac.js'
import { invalid } from '../../logical/errors.js'
import {
  putJson,
  putRecord,
  type ReadStorage,
  readJson,
  readRecord,
  type Storage,
  type Transaction,
} from '../../logical/storage.js'
import type { Role } from './roles.js'
import type { Salt } from './salt.js'

/** The stored record of one SecretID. The SecretID itself is not in it: the record is found by an HMAC of it. */
export interface SecretId {
  /** Name of its role, to tell whether that is still there. */
  readonly role: string
  readonly accessor: string
  /** Uses that are left; 0 is no limit, since the last use removes the record. */
  readonly numUses: number
  /** The TTL that was asked for; the mount may end it sooner. */
  readonly ttlSeconds: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Null = never. */
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

/** Throws 400 with `prefix` before its text. */
export const checkSecretIdLength = (secretId: string, prefix: string): void => {
  if (Buffer.byteLength(secretId) > LIMITS.hmacInputBytesMax) {
    throw invalid(`${prefix}: value is longer than maximum of ${LIMITS.hmacInputBytesMax} bytes`)
  }
}

export class SecretIdStore {
  readonly storage: Storage
  readonly folders: Folders
  readonly #salt: Salt
  /** By the role's record, with which they go. */
  readonly #foldersOf = new WeakMap<Role, string>()

  constructor(storage: Storage, folders: Folders, salt: Salt) {
    this.storage = storage
    this.folders = folders
    this.#salt = salt
  }

  /** Where all SecretIDs of a role lie. */
  folderOf(role: Role): string {
    let folder = this.#foldersOf.get(role)
    if (folder === undefined) {
      folder = `${this.folders.secretIds}${hmacSha256Hex(Buffer.from(role.hmacKey), role.name)}/`
      this.#foldersOf.set(role, folder)
    }
    return folder
  }

  keyOf(role: Role, secretId: string): string {
    return this.folderOf(role) + hmacSha256Hex(Buffer.from(role.hmacKey), secretId)
  }

  read(key: string, reader: ReadStorage = this.storage): SecretId | undefined {
    return readRecord<SecretId>(reader, key)
  }

  /** The key of the SecretID that an accessor belongs to, of whatever role. */
  findKey(accessor: string, reader: ReadStorage = this.storage): string | undefined {
    const entry = readJson<{ key: string }>(reader, this.#accessorKey(accessor))
    return entry && this.folders.secretIds + entry.key
  }

  /** Without it the SecretID is not valid. */
  hasAccessor(record: SecretId, reader: ReadStorage = this.storage): boolean {
    return reader.get(this.#accessorKey(record.accessor)) !== undefined
  }

  /** A new SecretID with its accessor. */
  add(tx: Transaction, key: string, record: SecretId): void {
    putJson(tx, key, record)
    putJson(tx, this.#accessorKey(record.accessor), { key: key.slice(this.folders.secretIds.length) })
  }

  /** Writes what has changed of a SecretID whose accessor stays. */
  update(tx: Transaction, key: string, record: SecretId): void {
    putRecord(tx, key, record)
  }

  remove(tx: Transaction, key: string, record: SecretId): void {
    tx.delete(key)
    tx.delete(this.#accessorKey(record.accessor))
  }

  /** Removes a SecretID by its storage key, which may hold nothing by now. */
  removeAt(tx: Transaction, key: string): void {
    const record = this.read(key, tx)
    if (record) this.remove(tx, key, record)
  }

  /** Whether the accessor at this key of the index leads to a SecretID. */
  isAccessorUsed(accessorKey: string, reader: ReadStorage): boolean {
    const entry = readJson<{ key: string }>(reader, accessorKey)
    return entry !== undefined && reader.get(this.folders.secretIds + entry.key) !== undefined
  }

  #accessorKey(accessor: string): string {
    const hash = this.#salt.find(accessor)
    if (hash === undefined) throw new Error('a SecretID is asked for before there was a role')
    return this.folders.accessors + hash
  }
}

const PAGE_KEYS = 256

/** The keys below `prefix`, some at a time, so that a large folder neither fills the memory nor holds others up. */
export async function* pagesOf(storage: Storage, prefix: string): AsyncGenerator<string[]> {
  let after: string | undefined
  for (;;) {
    const keys = await storage.keys(prefix, { limit: PAGE_KEYS, ...(after !== undefined && { after }) })
    if (keys.length > 0) yield keys
    if (keys.length < PAGE_KEYS) return
    after = keys.at(-1)?.slice(prefix.length)
  }
}
