/** User records: `user/<lower-case name>`. */
import { putJson, type ReadStorage, readJson, type Storage, type Transaction } from '../../logical/storage.js'
import type { TokenSettings } from '../../logical/token-fields.js'

export const USER_PREFIX = 'user/'

export interface User {
  readonly passwordHash: string
  readonly token: TokenSettings
  /**
   * Values that were last written under the deprecated names of their fields. A read shows them under these names too.
   */
  readonly old: OldNames
}

export interface OldNames {
  readonly policies?: readonly string[]
  readonly ttlSeconds?: number
  readonly maxTtlSeconds?: number
  readonly boundCidrs?: readonly string[]
}

export const foldName = (name: string): string => name.toLowerCase()

export const findUser = (storage: ReadStorage, name: string): User | undefined =>
  readJson<User>(storage, USER_PREFIX + foldName(name))

export const putUser = (tx: Transaction, name: string, user: User): void =>
  putJson(tx, USER_PREFIX + foldName(name), user)

export const removeUser = (storage: Storage, name: string): Promise<undefined> =>
  storage.write((tx) => void tx.delete(USER_PREFIX + foldName(name)))
