/**
 * Stores roles, and the index that finds a role by its RoleID. A write changes both in one transaction, so that every
 * RoleID belongs to one role and every role has one RoleID.
 *
 * `role/<name in lower case>` contains the role. `role_id/<hash>` contains the name of the role with the RoleID.
 */
import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { invalid } from '../../logical/errors.js'
import {
  putJson,
  readJson,
  readRecord,
  type ReadStorage,
  type Storage,
  type Transaction,
} from '../../logical/storage.js'
import { DEFAULT_TOKEN_SETTINGS, type OldNames, type TokenSettings } from '../../logical/token-fields.js'
import { LIMITS } from '../../base/limits.js'
import { string } from '../../logical/fields.js'
import { RecentCache } from '../../base/recent-cache.js'
import { hmacSha256Hex } from '../../crypto/digest.js'

const SALT_KEY = 'salt'

/**
 * Salted hashes for keys whose plaintext must not be on disk: RoleIDs and accessors. The salt is created with the first
 * role of a mount, replicates with it and never changes.
 */
export class Salt {
  readonly #storage: Storage
  readonly #random: Random
  /** The stored salt. Only set after a commit, because the write of a new salt can fail. */
  #value: Buffer | undefined
  /** Cached hashes. Every login needs two: the hash of its RoleID and the hash of an accessor. */
  readonly #hashes = new RecentCache<string>(LIMITS.saltedTextsMax)

  constructor(storage: Storage, random: Random) {
    this.#storage = storage
    this.#random = random
  }

  /** Returns the hash in 64 hex digits; undefined if the mount has never had a role. */
  find(text: string): string | undefined {
    this.#value ??= this.#storage.get(SALT_KEY)
    return this.#value && (this.#hashes.get(text) ?? this.#remember(text, hmacSha256Hex(this.#value, text)))
  }

  /** Returns the hash inside a transaction of the replicated storage. Creates the salt if it does not exist. */
  hash(tx: Transaction, text: string): string {
    const salt = this.#value ?? tx.get(SALT_KEY) ?? this.#create(tx)
    return hmacSha256Hex(salt, text)
  }

  invalidate(key: string): void {
    if (key !== SALT_KEY) return
    this.#value = undefined
    this.#hashes.clear()
  }

  #remember(text: string, hash: string): string {
    if (text.length <= LIMITS.saltedTextCharactersMax) this.#hashes.set(text, hash)
    return hash
  }

  #create(tx: Transaction): Buffer {
    const salt = Buffer.from(uuid(this.#random))
    tx.put(SALT_KEY, salt)
    return salt
  }
}

/**
 * The field with the name of a role: letters, digits, spaces, hyphens, underscores and periods. Names are
 * case-insensitive. Records and responses contain them in lower case.
 */
export const ROLE_NAME_FIELD = { role_name: string('Name of the role, case-insensitive.') } as const

/** Returns the name of a role in lower case. Throws LogicalError 400 for an invalid name. */
export const parseRoleName = (text: string): string => {
  if (Buffer.byteLength(text) > LIMITS.roleNameBytesMax) {
    throw invalid(`role_name must be shorter than ${LIMITS.roleNameBytesMax + 1} bytes`)
  }
  if (text === '.' || text === '..') throw invalid('relative paths not supported')
  if (!/^[A-Za-z0-9 _.-]+$/.test(text)) {
    throw invalid('role_name may only consist of letters, digits, spaces, hyphens, underscores and periods')
  }
  return text.toLowerCase()
}

const ROLE_PREFIX = 'role/'
const ROLE_ID_PREFIX = 'role_id/'

export interface Role {
  /** In lower case. */
  readonly name: string
  readonly roleId: string
  /**
   * A new random key for every new role. If the role reuses a name, SecretIDs of the old role are therefore invalid.
   */
  readonly hmacKey: string
  readonly bindSecretId: boolean
  /** True if SecretIDs stay on the cluster that issued them. Cannot change after the creation of the role. */
  readonly hasLocalSecretIds: boolean
  /** CIDR blocks as the client sent them; null if never set, or after a reset. */
  readonly secretIdBoundCidrs: readonly string[] | null
  readonly secretIdNumUses: number
  readonly secretIdTtlSeconds: number
  readonly token: TokenSettings
  readonly old: OldNames
}

/** Returns a role of this name with default settings. */
export const newRole = (name: string, random: Random): Role => ({
  name,
  roleId: uuid(random),
  hmacKey: uuid(random),
  bindSecretId: true,
  hasLocalSecretIds: false,
  secretIdBoundCidrs: null,
  secretIdNumUses: 0,
  secretIdTtlSeconds: 0,
  token: DEFAULT_TOKEN_SETTINGS,
  old: {},
})

const hasConstraint = ({ bindSecretId, secretIdBoundCidrs, token }: Role): boolean =>
  bindSecretId || Boolean(secretIdBoundCidrs?.length) || Boolean(token.boundCidrs?.length)

export class Roles {
  readonly #storage: Storage
  readonly #salt: Salt

  constructor(storage: Storage, salt: Salt) {
    this.#storage = storage
    this.#salt = salt
  }

  /** Finds a role by its name in any letter case. Throws LogicalError 400 for an invalid name. */
  find(name: string, reader: ReadStorage = this.#storage): Role | undefined {
    return readRecord<Role>(reader, ROLE_PREFIX + parseRoleName(name))
  }

  findByRoleId(roleId: string): Role | undefined {
    const hash = this.#salt.find(roleId)
    const owner = hash && readRecord<{ name: string }>(this.#storage, ROLE_ID_PREFIX + hash)
    const role = owner ? this.find(owner.name) : undefined
    return role?.roleId === roleId ? role : undefined
  }

  /** Returns the names in lower case, sorted. */
  list(): Promise<string[]> {
    return this.#storage.list(ROLE_PREFIX)
  }

  /**
   * Creates or changes a role in one transaction. `fn` receives the current role and returns the role to store, or
   * undefined to change nothing. Rejects with LogicalError 400 if the role does not restrict logins, or if another role
   * has the RoleID. Also rejects with the errors of `fn`.
   */
  write<T>(name: string, fn: (before: Role | undefined) => { role: Role | undefined; result: T }): Promise<T> {
    return this.#storage.write((tx) => {
      const before = this.find(name, tx)
      const { role, result } = fn(before)
      if (role) this.#put(tx, role, before)
      return result
    })
  }

  /** Removes the role and its index entry, and returns the removed role. */
  remove(name: string): Promise<Role | undefined> {
    return this.#storage.write((tx) => {
      const role = this.find(name, tx)
      if (!role) return undefined
      tx.delete(ROLE_PREFIX + role.name)
      tx.delete(ROLE_ID_PREFIX + this.#salt.hash(tx, role.roleId))
      return role
    })
  }

  #put(tx: Transaction, role: Role, before: Role | undefined): void {
    if (!hasConstraint(role)) throw invalid('at least one constraint should be enabled on the role')
    const indexKey = ROLE_ID_PREFIX + this.#salt.hash(tx, role.roleId)
    const owner = readJson<{ name: string }>(tx, indexKey)
    if (owner && owner.name !== role.name) throw invalid('role_id already in use')
    if (before && before.roleId !== role.roleId) tx.delete(ROLE_ID_PREFIX + this.#salt.hash(tx, before.roleId))
    if (!owner) putJson(tx, indexKey, { name: role.name })
    putJson(tx, ROLE_PREFIX + role.name, role)
  }
}
