import type { Clock } from '../../base/clock.js'
import { type Backend, type Call, definePath, listed, type PathSpec, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import type { RenewalTimes, Response, TokenOrigin } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import { tidyAnswer } from '../../logical/tidy.js'
import type { TokenAuthority } from './authority.js'
import { lookupPaths, renewPaths, revokePaths } from './lifecycle-paths.js'
import { ROLE_FIELDS, roleData, type TokenRole, TokenRoles } from './role-record.js'
import { string } from '../../logical/fields.js'
import { checkEntityAlias, CREATE_FIELDS, decideCreation } from './create-rules.js'
import { aclPath, ownToken } from './finder.js'

interface CreateDeps {
  readonly authority: TokenAuthority
  readonly roles: TokenRoles
  /** Returns the accessor of the namespace's token mount. */
  readonly mountAccessor: (namespaceId: string) => string
}

type CreateCall = Pick<Call<typeof CREATE_FIELDS>, 'request' | 'values'>

const BY_ROLE_FIELDS = { ...CREATE_FIELDS, role_name: string('Name of the token role.') }

const createPaths = ({ authority, roles, mountAccessor }: CreateDeps): PathSpec[] => {
  const create = async (
    { request, values }: CreateCall,
    role: TokenRole | undefined,
    isOrphanPath: boolean,
  ): Promise<Response> => {
    const { namespace, path } = request
    const parent = ownToken(authority, request)
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

/**
 * Creates the paths of auth/token/roles, which manage token roles. `maxTtlSeconds` returns the maximum TTL of a
 * namespace's token mount.
 */
const rolePaths = (roles: TokenRoles, maxTtlSeconds: (namespaceId: string) => number): PathSpec[] => [
  definePath('roles/?', {}, 'List the token roles.', {
    list: ({ request }) => listed(roles.list(request.namespace.id)),
  }),
  definePath('roles/:name', ROLE_FIELDS, 'Read, write or delete a token role.', {
    read: ({ request, values }) => shown(roles.find(request.namespace.id, values.name), roleData),
    update: async (call) => {
      const { id: namespaceId } = call.request.namespace
      const { role, warnings } = await roles.put(namespaceId, call.values.name, call)
      const all = [...warnings, ...longLifeWarnings(role, maxTtlSeconds(namespaceId))]
      return all.length === 0 ? undefined : { warnings: all }
    },
    delete: async ({ request, values }) => void (await roles.remove(request.namespace.id, values.name)),
    exists: ({ request, values }) => roles.find(request.namespace.id, values.name) !== undefined,
  }),
]

const longLifeWarnings = ({ explicitMaxTtl }: TokenRole, maxSeconds: number): string[] =>
  explicitMaxTtl.value > maxSeconds
    ? [
        `Given explicit max TTL of ${explicitMaxTtl.value} is greater than system/mount allowed value of ${maxSeconds} ` +
          'seconds; tokens will live no longer than that',
      ]
    : []

interface TokenBackendOptions {
  readonly authority: TokenAuthority
  /** The storage of the keys below `sys/token-roles/`. */
  readonly roles: Storage
  readonly clock: Clock
  /** Starts the removal of invalid tokens. Returns false if one is in progress. */
  readonly beginTidy: () => boolean
  /** Returns the token mount of a namespace. Tuning can change it. */
  readonly mountOf: (namespaceId: string) => { readonly accessor: string; readonly maxLeaseTtlSeconds: number }
}

/**
 * Creates the token auth method: one backend for the token mounts of all namespaces, because the core stores all
 * tokens.
 */
export const createTokenBackend = (options: TokenBackendOptions): Backend => {
  const { authority, clock, mountOf } = options
  const roles = new TokenRoles(options.roles)
  return {
    type: 'token',
    paths: [
      ...lookupPaths(authority, clock),
      ...renewPaths(authority),
      ...revokePaths(authority),
      ...rolePaths(roles, (namespaceId) => mountOf(namespaceId).maxLeaseTtlSeconds),
      ...createPaths({ authority, roles, mountAccessor: (namespaceId) => mountOf(namespaceId).accessor }),
      definePath('tidy', {}, 'Remove the tokens that are no longer valid.', {
        update: () => tidyAnswer(options.beginTidy()),
      }),
    ],
    rules: RULES,
    renew: (origin) => renewByRole(roles, origin),
  }
}

/** `revoke-orphan` is absent: it requires sudo too, but checks sudo itself because its error is different. */
const RULES = new PathRuleTable({
  accessors: { access: 'sudo' },
  'accessors/*': { access: 'sudo' },
  create: { createsLease: true },
  'create/*': { createsLease: true },
  'create-orphan': { createsLease: true },
  'lookup-self': { isForSelf: true },
  'renew-self': { isForSelf: true },
  'revoke-self': { isForSelf: true },
})

/** Returns the current TTLs of a token's role. Throws LogicalError 400 if the role no longer exists. */
const renewByRole = (roles: TokenRoles, { internal }: TokenOrigin): RenewalTimes => {
  const name = String(internal.role ?? '')
  const role = roles.find(String(internal.namespaceId ?? ''), name)
  if (!role) throw invalid(`original token role ${JSON.stringify(name)} could not be found, not renewing`)
  return { periodSeconds: role.period.value, explicitMaxTtlSeconds: role.explicitMaxTtl.value }
}
