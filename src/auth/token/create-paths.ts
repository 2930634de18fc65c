import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { TokenAuthority } from './authority.js'
import { checkEntityAlias, CREATE_FIELDS, decideCreation } from './create-rules.js'
import { aclPath, TokenFinder } from './finder.js'
import type { TokenRole, TokenRoles } from './role-record.js'

interface CreateDeps {
  readonly authority: TokenAuthority
  readonly roles: TokenRoles
  /** Returns the accessor of the namespace's token mount. */
  readonly mountAccessor: (namespaceId: string) => string
}

type CreateCall = Pick<Call<typeof CREATE_FIELDS>, 'request' | 'values'>

const BY_ROLE_FIELDS = { ...CREATE_FIELDS, role_name: string('Name of the token role.') }

/** Creates auth/token/create, create-orphan and create/:role_name. */
export const createPaths = ({ authority, roles, mountAccessor }: CreateDeps): PathSpec[] => {
  const finder = new TokenFinder(authority)
  const create = async (
    { request, values }: CreateCall,
    role: TokenRole | undefined,
    isOrphanPath: boolean,
  ): Promise<Response> => {
    const { namespace, path } = request
    const parent = finder.own(request)
    const hasSudo = authority.hasSudo(parent, aclPath(request, parent))
    const alias = values.entity_alias
    if (alias !== '') checkEntityAlias(alias, role)
    const { wanted, warnings } = decideCreation({ values, parent, hasSudo, role, path, namespace, isOrphanPath })
    const entityId =
      alias === '' ? wanted.entityId : await authority.aliasEntityId(mountAccessor(namespace.id), alias, namespace.id)
    const issued = await authority.create({ ...wanted, entityId })
    const unknown = wanted.policies
      .filter((name) => name !== 'root' && !authority.hasPolicy(namespace.id, name))
      .map((name) => `Policy ${JSON.stringify(name)} does not exist`)
    return { auth: issued.auth, warnings: [...warnings, ...issued.warnings, ...unknown] }
  }
  return [
    definePath('create', CREATE_FIELDS, 'Create a child of the token of the request.', {
      update: (call) => create(call, undefined, false),
    }),
    definePath('create-orphan', CREATE_FIELDS, 'Create a token without a parent.', {
      update: (call) => create(call, undefined, true),
    }),
    definePath('create/:role_name', BY_ROLE_FIELDS, 'Create a token with a role.', {
      update: (call) => {
        const name = call.values.role_name
        const role = roles.find(call.request.namespace.id, name)
        if (!role) throw invalid(`unknown role ${name}`)
        return create(call, role, false)
      },
    }),
  ]
}
