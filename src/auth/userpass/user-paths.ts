/** User management: create, read, update, delete, list, and separate endpoints for password and policies. */
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, unsupportedPath } from '../../logical/errors.js'
import type { FieldTable } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { applyRenamed, DEFAULT_TOKEN_SETTINGS, normalizePolicies } from '../../logical/token-fields.js'
import { hashPassword, parsePasswordHash, type Passwords } from './password-worker.js'
import { applyUserFields, USER_FIELDS, type UserCall, userData } from './user-fields.js'
import { findUser, putUser, removeUser, type User, USER_PREFIX } from './users.js'

const { username, password, password_hash, policies, token_policies } = USER_FIELDS
const LIST_FIELDS = {} satisfies FieldTable
const PASSWORD_FIELDS = { username, password, password_hash }
const POLICY_FIELDS = { username, policies, token_policies }

type PasswordCall = Call<typeof PASSWORD_FIELDS>
type PolicyCall = Call<typeof POLICY_FIELDS>

/** Paths with other names do not exist in this method. */
const NAME = /^\w([\w.-]*\w)?$/

const checkName = (name: string): void => {
  if (!NAME.test(name)) throw unsupportedPath()
}

export const userPaths = ({ storage, random }: BackendContext, passwords: Passwords): PathSpec[] => {
  const list = async (): Promise<Response | undefined> => {
    const keys = await storage.list(USER_PREFIX)
    return keys.length === 0 ? undefined : { data: { keys } }
  }

  const read = ({ values }: UserCall): Response | undefined => {
    const user = findUser(storage, values.username)
    return user && { data: userData(user) }
  }

  const write = async (call: UserCall): Promise<Response | undefined> => {
    const name = call.values.username
    checkName(name)
    const hash = await sentHash(call)
    return storage.write((tx) => {
      const before = findUser(tx, name)
      const passwordHash = hash ?? before?.passwordHash
      if (passwordHash === undefined) throw invalid('missing password')
      const { token, old, warnings } = applyUserFields(call, before ?? { token: DEFAULT_TOKEN_SETTINGS, old: {} })
      putUser(tx, name, { passwordHash, token, old })
      return warnings.length === 0 ? undefined : { warnings }
    })
  }

  /** Returns the hash of the sent password, or the sent hash; undefined if neither was sent. */
  const sentHash = async (call: PasswordCall): Promise<string | undefined> => {
    const { password, password_hash } = call.values
    if (password !== '' && password_hash !== '') {
      throw invalid('"password" and "password_hash" are mutually exclusive')
    }
    if (password_hash !== '') return parsePasswordHash(password_hash)
    return password === '' ? undefined : hashPassword(passwords, password, random)
  }

  /** Changes an existing user in one transaction. */
  const change = (name: string, fn: (user: User) => User): Promise<undefined> =>
    storage.write((tx) => {
      const user = findUser(tx, name)
      if (!user) throw invalid('username does not exist')
      putUser(tx, name, fn(user))
      return undefined
    })

  const writePassword = async (call: PasswordCall): Promise<undefined> => {
    const passwordHash = await sentHash(call)
    if (passwordHash === undefined) throw invalid('missing password')
    return change(call.values.username, (user) => ({ ...user, passwordHash }))
  }

  const writePolicies = (call: PolicyCall): Promise<undefined> =>
    change(call.values.username, ({ old: { policies: remembered, ...old }, token, passwordHash }) => {
      const renamed = applyRenamed<readonly string[]>(
        {
          old: call.supplied('policies') ? normalizePolicies(call.values.policies) : undefined,
          new: call.supplied('token_policies') ? call.values.token_policies : undefined,
        },
        { value: token.policies, remembered },
      )
      return {
        passwordHash,
        token: { ...token, policies: renamed.value },
        old: renamed.remembered ? { ...old, policies: renamed.remembered } : old,
      }
    })

  return [
    definePath('users/?', LIST_FIELDS, 'List the users.', { list }),
    definePath('users/:username', USER_FIELDS, 'Read, write or delete a user.', {
      read,
      create: write,
      update: write,
      delete: ({ values }: UserCall) => removeUser(storage, values.username),
      exists: ({ values }) => findUser(storage, values.username) !== undefined,
    }),
    definePath('users/:username/password', PASSWORD_FIELDS, 'Set the password of a user.', { update: writePassword }),
    definePath('users/:username/policies', POLICY_FIELDS, 'Set the policies of a user.', { update: writePolicies }),
  ]
}
