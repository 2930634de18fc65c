/** User management: create, read, update, delete, list, and separate endpoints for password and policies. */
import { isGenericName } from '../../base/id.js'
import {
  type BackendContext,
  type Call,
  definePath,
  listed,
  type PathSpec,
  sentBy,
  shown,
} from '../../logical/backend.js'
import { invalid, unsupportedPath } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { applyTokenNames, OLD_TOKEN_FIELDS, oldNamesData } from '../../logical/old-token-fields.js'
import {
  applyOldNames,
  DEFAULT_TOKEN_SETTINGS,
  normalizePolicies,
  TOKEN_FIELDS,
  tokenFieldsData,
} from '../../logical/token-fields.js'
import { hashPassword, parsePasswordHash, type Passwords } from './password-worker.js'
import { findUser, putUser, removeUser, type User, USER_PREFIX } from './users.js'

const PASSWORD_FIELDS = {
  username: string('Name of the user, case-insensitive.'),
  password: string('The password.', '', { isSecret: true }),
  password_hash: string('A bcrypt hash instead of the password.', '', { isSecret: true }),
} as const
const { policies, ttl, max_ttl, bound_cidrs } = OLD_TOKEN_FIELDS
const USER_FIELDS = { ...PASSWORD_FIELDS, policies, ttl, max_ttl, bound_cidrs, ...TOKEN_FIELDS } as const
const POLICY_FIELDS = {
  username: PASSWORD_FIELDS.username,
  policies,
  token_policies: TOKEN_FIELDS.token_policies,
} as const

type UserCall = Call<typeof USER_FIELDS>

/** Returns the data of a read response. Omits the password hash, and old names that are not set. */
const userData = (user: User): Record<string, unknown> => ({ ...tokenFieldsData(user.token), ...oldNamesData(user) })

export const userPaths = ({ storage, random }: BackendContext, passwords: Passwords): PathSpec[] => {
  const write = async (call: UserCall): Promise<Response | undefined> => {
    const name = call.values.username
    if (!isGenericName(name)) throw unsupportedPath()
    const hash = await sentHash(call)
    return storage.write((tx) => {
      const before = findUser(tx, name)
      const passwordHash = hash ?? before?.passwordHash
      if (passwordHash === undefined) throw invalid('missing password')
      const { token, old, warnings } = applyTokenNames(call, before ?? { token: DEFAULT_TOKEN_SETTINGS, old: {} })
      putUser(tx, name, { passwordHash, token, old })
      return warnings.length === 0 ? undefined : { warnings }
    })
  }

  /**
   * Returns the hash of the password in the request, or the hash in the request; undefined if the request has neither.
   * Rejects with LogicalError 400 if it has both.
   */
  const sentHash = async (call: Pick<Call<typeof PASSWORD_FIELDS>, 'values'>): Promise<string | undefined> => {
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

  return [
    definePath('users/?', {}, 'List the users.', { list: () => listed(storage.list(USER_PREFIX)) }),
    definePath('users/:username', USER_FIELDS, 'Read, write or delete a user.', {
      read: ({ values }) => shown(findUser(storage, values.username), userData),
      create: write,
      update: write,
      delete: ({ values }) => removeUser(storage, values.username),
      exists: ({ values }) => findUser(storage, values.username) !== undefined,
    }),
    definePath('users/:username/password', PASSWORD_FIELDS, 'Set the password of a user.', {
      update: async (call) => {
        const passwordHash = await sentHash(call)
        if (passwordHash === undefined) throw invalid('missing password')
        return change(call.values.username, (user) => ({ ...user, passwordHash }))
      },
    }),
    definePath('users/:username/policies', POLICY_FIELDS, 'Set the policies of a user.', {
      update: (call) => {
        const sent = sentBy(call)
        const old = sent('policies')
        const policies = { old: old && normalizePolicies(old), new: sent('token_policies') }
        return change(call.values.username, (user) => applyOldNames(user, { policies }))
      },
    }),
  ]
}
