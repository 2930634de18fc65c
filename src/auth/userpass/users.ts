/** Stores users. The storage key of a user is `user/<name in lower case>`. */
import { putJson, type ReadStorage, readJson, type Storage, type Transaction } from '../../logical/storage.js'
import type { OldNames, TokenSettings } from '../../logical/token-fields.js'

export const USER_PREFIX = 'user/'

export interface User {
  readonly passwordHash: string
  readonly token: TokenSettings
  readonly old: OldNames
}

export const foldName = (name: string): string => name.toLowerCase()

export const findUser = (storage: ReadStorage, name: string): User | undefined =>
  readJson<User>(storage, USER_PREFIX + foldName(name))

export const putUser = (tx: Transaction, name: string, user: User): void =>
  putJson(tx, USER_PREFIX + foldName(name), user)

export const removeUser = (storage: Storage, name: string): Promise<undefined> =>
  storage.write((tx) => void tx.delete(USER_PREFIX + foldName(name)))
