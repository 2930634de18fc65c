/**
 * AppRole login. The order of the checks is part of the API contract: the login consumes a use of the SecretID before
 * it checks the client's address, so that a rejected login consumes a use too. An unknown RoleID and an unknown,
 * expired or exhausted SecretID produce the same error.
 */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { parseBoundCidrs } from '../../logical/bound-cidrs.js'
import { invalid, isReadOnly, type LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Lockout } from '../../logical/lockout.js'
import type { LoginAuth, RenewalTimes, Request, Response, TokenOrigin } from '../../logical/request.js'
import { loginAuth, renewalTimes } from '../../logical/token-fields.js'
import { checkSource, checkSubset } from './cidr-rules.js'
import type { MountData } from './mount-data.js'
import type { Role } from './roles.js'
import { checkSecretIdLength, type SecretId } from './secret-id-records.js'
import type { TakenUse } from './secret-ids.js'

const LOGIN_FIELDS = {
  role_id: string('The RoleID.', '', { isRequired: true }),
  secret_id: string('A SecretID of the role, if the role requires one.', '', { isSecret: true }),
} as const

export const LOGIN_PATH = 'login'

/** The result of `takeUse` for a role that requires no SecretID. */
const NO_USE: { readonly [Part in keyof TakenUse]: undefined } = { secretId: undefined, stored: undefined }

export const loginPath = (data: MountData, lockout: Lockout): PathSpec => {
  const login = async ({ request, values }: Call<typeof LOGIN_FIELDS>): Promise<Response> => {
    const roleId = values.role_id.trim()
    if (roleId === '') throw invalid('missing role_id')
    lockout.check(roleId)
    const role = data.roles.findByRoleId(roleId)
    if (!role) throw wrongIds()
    const { secretId, stored } = role.bindSecretId ? await takeUse(role, values.secret_id.trim()) : NO_USE
    try {
      // Checks again, because other logins may have failed while this login was queued.
      lockout.check(roleId)
      checkAddresses(role, secretId, request)
    } catch (error) {
      await stored
      throw error
    }
    lockout.unlock(roleId)
    return { login: loginOf(role, secretId), loginStored: stored }
  }

  const takeUse = async (role: Role, value: string): Promise<TakenUse> => {
    if (value === '') throw invalid('missing secret_id')
    checkSecretIdLength(value, 'failed to create HMAC of secret_id')
    const taken = await data.secretIdsOf(role).use(value).catch(onForwarded(role))
    if (taken) return taken
    lockout.fail(role.roleId)
    throw wrongIds()
  }

  /**
   * Rethrows an error. If the error means that the primary must handle the login, the SecretID is valid, so this
   * function resets the failure counter first.
   */
  const onForwarded = (role: Role) => (error: unknown) => {
    if (isReadOnly(error)) lockout.unlock(role.roleId)
    throw error
  }

  return definePath(LOGIN_PATH, LOGIN_FIELDS, 'Log in with a RoleID and, if the role requires it, a SecretID.', {
    update: login,
  })
}

const wrongIds = (): LogicalError => invalid('invalid role or secret ID')

const checkAddresses = (role: Role, secretId: SecretId | undefined, { remoteAddress }: Request): void => {
  const ofRole = role.secretIdBoundCidrs ?? []
  if (secretId) {
    checkSubset(ofRole, secretId.cidrList)
    const word = secretId.numUses > 0 ? 'by' : 'through'
    checkSource(secretId.cidrList, remoteAddress, `${word} CIDR restrictions on the secret ID`)
  }
  checkSource(ofRole, remoteAddress, 'by CIDR restrictions on the role')
  checkSource(role.token.boundCidrs ?? [], remoteAddress, 'by CIDR restrictions on the token')
}

const loginOf = (role: Role, secretId: SecretId | undefined): LoginAuth => {
  // Metadata cannot override the role name.
  const metadata = { ...secretId?.metadata, role_name: role.name }
  return loginAuth(role.token, {
    displayName: '',
    metadata,
    alias: { name: role.roleId, metadata },
    internal: { role_name: role.name },
    boundCidrs: secretId?.tokenBoundCidrs.length ? parseBoundCidrs(secretId.tokenBoundCidrs) : undefined,
  })
}

/** Returns the current TTLs of the role. Throws LogicalError 400 if the role no longer exists. */
export const renewLogin = (data: MountData, { internal }: TokenOrigin): RenewalTimes => {
  const name = String(internal.role_name)
  const role = data.roles.find(name)
  if (!role) throw invalid(`failed to renew entry: role ${JSON.stringify(name)} does not exist during renewal`)
  return renewalTimes(role.token)
}
