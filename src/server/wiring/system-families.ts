import { aclPath } from '../../core/acl/acl.js'
import { routePath } from '../../core/mounts/mount-entry.js'
import { auditPaths } from '../../core/system/audit-paths.js'
import { createSystemBackend } from '../../core/system/backend.js'
import { capabilityPaths, type TokenAcl } from '../../core/system/capability-paths.js'
import { leasePaths } from '../../core/system/lease-paths.js'
import { lockedUsersPaths } from '../../core/system/locked-users-paths.js'
import { mountPaths } from '../../core/system/mount-paths.js'
import { namespacePaths } from '../../core/system/namespace-paths.js'
import { licenseBody } from '../../core/system/node-paths.js'
import { passwordPolicyPaths } from '../../core/system/password-policy-paths.js'
import { policyPaths } from '../../core/system/policy-paths.js'
import { quotaPaths } from '../../core/system/quota-paths.js'
import { remountPaths } from '../../core/system/remount-paths.js'
import { tunePaths } from '../../core/system/tune-paths.js'
import { uiPaths } from '../../core/system/ui-paths.js'
import { wrappingPaths } from '../../core/system/wrapping-paths.js'
import { aclOf, uncountedRights } from '../../core/tokens/token-rights.js'
import type { Backend, PathSpec } from '../../logical/backend.js'
import type { JsonObject } from '../../logical/json.js'
import { type Request, ROOT_NAMESPACE, type TokenView } from '../../logical/request.js'
import { replicationPaths } from '../../replication/paths/paths.js'
import { upgradeToV2 } from '../../secrets/kv/upgrade.js'
import type { CoreServices } from './core-services.js'
import { type FamilyOptions, serverFamilies } from './server-families.js'
import type { OpenClusterOptions } from '../parts/parts.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { GenerationAttempt } from '../../core/seal/generate-root.js'
import type { OperationTokens } from '../../replication/model/operation-token.js'
import type { PathServices } from '../../replication/host/host.js'

export const createSystemFamilies = (options: FamilyOptions): Backend => {
  const { statePaths, shell, replication } = options
  const { operationTokens } = replication.replication.context
  const context = { ...replication.replication.context, services: createPathServices({ ...options, operationTokens }) }
  const families = [
    ...mountFamilies(options),
    ...accessFamilies(options),
    ...serverFamilies(options, context),
    ...replicationPaths(context),
  ]
  return createSystemBackend([...statePaths, ...families], shell.systemRules)
}

const mountFamilies = ({ services, replication, config, clock, random }: FamilyOptions): PathSpec[] => {
  const { table, mounts, router, namespaces, policies, identity, tokens, cleanup } = services
  const deps = { table, mounts, router, reportedVersion: config.own.reportedVersion }
  const isHidden = (path: string, { visibility }: Pick<Request, 'visibility'>) =>
    replication.hidesNamespace(path) || (visibility?.hidesNamespace(path) ?? false)
  return [
    ...tunePaths({
      ...deps,
      upgradeKv: async (entry) => {
        const mount = router.findByUuid(entry.uuid)
        if (mount) await upgradeToV2(mount.storage, clock.now())
      },
    }),
    ...mountPaths(deps),
    ...remountPaths({ ...deps, random, isReadOnly: () => replication.isSharedReadOnly }),
    ...uiPaths({
      ...deps,
      aclOf: (request) => aclOfRequest(services, request),
      namespacesOf: (request) => namespaces.all().flatMap(({ path }) => (isHidden(path, request) ? [] : path)),
    }),
    ...namespacePaths({
      namespaces,
      random,
      isHidden,
      requireAllPresent: (namespace, request) => {
        const entries = table.all().filter(({ namespaceId }) => namespaceId === namespace.id)
        for (const entry of entries) router.requirePresent(entry, request, routePath(entry))
      },
      refuseTaken: (entry) => table.refuseNamespaceAt(entry),
      createDefaults: async (namespace) => {
        await mounts.ensureDefaults(namespace)
        await policies.ensureDefaults(namespace.id)
      },
      clear: async (namespace) => {
        await tokens.revokeByPathPrefix(namespace.id, '')
        for (const kind of ['secret', 'auth'] as const) {
          for (const entry of table.list(kind, namespace.id)) await mounts.discard(entry)
        }
        await policies.removeAll(namespace.id)
        await identity.removeNamespace(namespace.id)
        for (const family of [KEYS.tokenRoles, KEYS.passwordPolicies])
          await cleanup.deleteBelow(`${family}${namespace.id}/`)
      },
    }),
  ]
}

/** Returns the paths of access control: policies, token capabilities, leases, wrapping and audit. */
const accessFamilies = ({ services, passwordPolicies, clock }: FamilyOptions): PathSpec[] => {
  const { policies, quotas, leaseQuotas, namespaces, tokens, leases, tidy, wrapping, audit, router } = services
  return [
    ...policyPaths({ policies }),
    ...passwordPolicyPaths({ passwords: passwordPolicies }),
    ...capabilityPaths({
      aclForToken: (presented) => aclOfToken(services, tokens.find(presented)),
      aclForAccessor: (accessor) => aclOfToken(services, tokens.findByAccessor(accessor)),
    }),
    ...quotaPaths({ quotas, leaseQuotas, namespaces, router }),
    ...wrappingPaths(wrapping),
    ...leasePaths({ tokens, leases, tidy, namespaces, clock }),
    ...lockedUsersPaths({ mounts: () => router.all() }),
    ...auditPaths({ audit }),
  ]
}

/** Returns the policies of the request's token, and the prefix of the request's paths in these policies. */
const aclOfRequest = (
  services: CoreServices,
  request: Request,
): { acl: TokenAcl['acl']; prefix: string } | undefined => {
  // The pipeline has already checked that the token is valid, has uses left, and comes from an allowed address.
  const { token } = request
  const rights = aclOfToken(services, token)
  const prefix = token && aclPath(token.namespace, request.namespace, '')
  return rights && prefix !== undefined ? { acl: rights.acl, prefix } : undefined
}

const aclOfToken = (services: CoreServices, token: TokenView | undefined): TokenAcl | undefined =>
  token && !services.identity.refuses(token) ? { acl: aclOf(token, services), namespace: token.namespace } : undefined

type Options = OpenClusterOptions & { readonly services: CoreServices; readonly operationTokens: OperationTokens }

const createPathServices = ({ config, runtime, random, services, operationTokens }: Options): PathServices => {
  const rights = uncountedRights(services)
  return {
    wrapActivation: (payload, ttlSeconds, creationPath) =>
      services.wrapping.store({
        namespace: ROOT_NAMESPACE,
        creationPath,
        wrap: { ttlSeconds, format: 'jwt' },
        status: 200,
        contentType: 'application/json',
        body: JSON.stringify(activationEnvelope(payload)),
        wrappedAccessor: '',
      }),
    authorize: (request) => rights.require(request),
    isBatchTokenAllowed: (presented, request) => rights.isOperationAllowed(presented, request),
    generation: new GenerationAttempt({
      strategy: 'dr-operation',
      slot: runtime.generationSlot,
      seal: runtime.seal,
      random,
      makeToken: () => operationTokens.create(),
    }),
    licenseStatus: () => licenseBody(config.own.license),
  }
}

/** Returns the response to an unwrap of an activation token: the usual response body with `data`. */
const activationEnvelope = (data: JsonObject): JsonObject => ({
  request_id: '',
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  data,
  wrap_info: null,
  warnings: null,
  auth: null,
})
