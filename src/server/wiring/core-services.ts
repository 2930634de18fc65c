import type { Facilities } from '../../base/facilities.js'
import { uuid } from '../../base/id.js'
import { createTokenBackend } from '../../auth/token/backend.js'
import { AuditBroker } from '../../core/audit/audit.js'
import { IdentityDirectory } from '../../core/identity/identity-directory.js'
import { PrimaryEntities } from '../../core/identity/primary-entities.js'
import { IdentityStore } from '../../core/identity/identity.js'
import { ForActiveNode } from '../../core/pipeline/for-active-node.js'
import type { RequestForwarder } from '../../core/pipeline/request-handler.js'
import { LeaseStore } from '../../core/tokens/leases.js'
import { effectiveLeaseTtls, type LeaseDefaults } from '../../core/mounts/mount-entry.js'
import type { Meter } from '../../core/status/metrics.js'
import { MountService } from '../../core/mounts/mounts.js'
import { PolicyStore } from '../../core/acl/policies.js'
import { MountCleanup } from '../../core/mounts/cleanup.js'
import { Router } from '../../core/mounts/router.js'
import { tokenCreation } from '../../core/tokens/token-metrics.js'
import { aclOf } from '../../core/tokens/token-rights.js'
import { TokenStore } from '../../core/tokens/tokens.js'
import { presentWrapped, Wrapping } from '../../core/wrapping/wrapping.js'
import type { JwtKeys } from '../../crypto/jwt.js'
import type { Backend, BackendType } from '../../logical/backend.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import { createCubbyhole } from '../../secrets/cubbyhole/backend.js'
import { createIdentityBackend } from '../../secrets/identity/backend.js'
import type { CoreTables } from './core-tables.js'
import type { ReplicationParts } from './replication-parts.js'
import { createWrappingSigner } from '../../core/wrapping/wrapping-signer.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** The part of the storage that the core needs. */
interface CoreStorage {
  view(prefix: string): Storage
  deriveKey(purpose: string): Buffer
  readonly position: () => number
}

interface CoreServicesOptions extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly storage: CoreStorage
  readonly tables: CoreTables
  readonly replication: Pick<ReplicationParts, 'isSharedReadOnly' | 'upstream' | 'presenceOf'>
  readonly forwarder: RequestForwarder
  /** True if nothing can be written, regardless of the cluster's roles. */
  readonly isStandby: boolean
  readonly types: ReadonlyMap<string, BackendType>
  readonly leaseDefaults: LeaseDefaults
  readonly apiAddress: () => string
  readonly meter: Meter
  readonly standardOutput: (text: string) => Promise<void>
  readonly jwtKeys?: JwtKeys | undefined
}

/** The services of an open cluster, wired together. They exist until the cluster is sealed or rebuilt. */
export interface CoreServices extends CoreTables {
  readonly mounts: MountService
  readonly router: Router
  readonly policies: PolicyStore
  readonly identity: IdentityStore
  readonly primaryEntities: PrimaryEntities
  readonly tokens: TokenStore
  readonly leases: LeaseStore
  readonly wrapping: Wrapping
  readonly audit: AuditBroker
  readonly cleanup: MountCleanup
  /** Backends that are not created per mount. The caller adds that of `sys/`, once its dependencies exist. */
  readonly singletons: Map<string, Backend>
}

export const createCoreServices = (options: CoreServicesOptions): CoreServices => {
  const { storage, replication, forwarder, isStandby, leaseDefaults, clock, random, log } = options
  const { namespaces, table } = options.tables
  const all = storage.view('')
  const isReadOnly = () => isStandby || replication.isSharedReadOnly
  const policies = new PolicyStore({ storage: storage.view(KEYS.policies) })
  const identity = new IdentityStore({
    storage: storage.view(KEYS.identity),
    random,
    clock,
    // Only the active node knows whether the entity is still replicating.
    onAbsent: isStandby ? askActiveNode : undefined,
  })
  const primaryEntities = new PrimaryEntities({
    identity,
    askPrimary: (request) => forwarder.forward(request),
    upstream: () => replication.upstream,
  })
  const audit = new AuditBroker({
    storage: all,
    clock,
    random,
    log,
    standardOutput: options.standardOutput,
    meter: options.meter,
  })
  const cleanup = new MountCleanup(all)
  const singletons = new Map<string, Backend>()
  const router = new Router({
    table,
    namespaces,
    types: options.types,
    singletons,
    storageAt: (prefix) => storage.view(prefix),
    leaseDefaults,
    worksInBackground: !isStandby,
    isReadOnly: ({ isLocal }) => isStandby || (!isLocal && replication.isSharedReadOnly),
    presenceOf: (entry) => {
      const presence = replication.presenceOf(entry)
      // Only the active node knows whether the rest of the data is still replicating.
      if (isStandby && (presence === 'arriving' || presence === 'stranded')) askActiveNode()
      return presence
    },
    clock,
    random,
    log,
  })
  const tokens = new TokenStore({
    storage: all,
    deriveKey: (purpose) => storage.deriveKey(purpose),
    clock,
    random,
    log,
    identity,
    findNamespace: (id) => namespaces.findById(id),
    askEntity: (alias) => {
      const namespace = namespaces.findById(alias.namespaceId) ?? ROOT_NAMESPACE
      return primaryEntities.ask({ id: uuid(random), namespace }, alias)
    },
    isMounted: (accessor, namespaceId, path) => {
      const namespace = namespaces.findById(namespaceId)
      return namespace !== undefined && router.find(namespace, path)?.mount.entry.accessor === accessor
    },
    leaseTtls: (namespaceId, path) => {
      const route = router.find(namespaces.findById(namespaceId) ?? ROOT_NAMESPACE, path)
      return route?.mount.view ?? leaseDefaults
    },
    hasPolicy: (namespaceId, name) => policies.find(namespaceId, name) !== undefined,
    hasSudo: (token, path) =>
      aclOf(token, { policies, identity }).check({
        path,
        operation: 'update',
        data: {},
        wrap: undefined,
        needsSudo: true,
      }).isAllowed,
    renewalTimes: (entry) => {
      const mount = router.find(entry.namespace, entry.path)?.mount
      if (!entry.origin || !mount?.backend.renew) throw new Error('a login token without a backend to renew it')
      return mount.backend.renew(entry.origin)
    },
    onIssued: (entry) => {
      const mount = router.find(entry.namespace, entry.path)?.mount
      options.meter.count(...tokenCreation(entry, mount && { type: mount.entry.type, path: mount.view.path }))
    },
    position: storage.position,
  })
  const leases = new LeaseStore(tokens)
  const mounts = new MountService({
    table,
    types: options.types,
    storage: all,
    cleanup,
    leaseDefaults,
    revokeLeases: (namespaceId, prefix) => tokens.revokeByPathPrefix(namespaceId, prefix),
    random,
  })
  const signer = createWrappingSigner({
    storage: all,
    clock,
    random,
    deriveKey: (purpose) => storage.deriveKey(purpose),
    address: options.apiAddress,
    jwtKeys: options.jwtKeys,
  })
  const cubbyhole = storage.view(KEYS.cubbyholes)
  const wrapping = new Wrapping({ tokens, cubbyhole, signer, clock })
  const services = {
    singletons,
    namespaces,
    table,
    mounts,
    router,
    policies,
    identity,
    primaryEntities,
    tokens,
    leases,
    wrapping,
    audit,
    cleanup,
  }
  const directory = new IdentityDirectory({
    store: identity,
    findMount: (accessor) => {
      const mount = router.findByAccessor(accessor)
      return mount && { ...mount.entry, path: mount.view.path }
    },
    isReadOnly,
    now: () => clock.now(),
  })
  singletons.set('identity', createIdentityBackend(directory))
  const storageIdOf = tokens.storageIdOf.bind(tokens)
  singletons.set('cubbyhole', createCubbyhole({ storage: cubbyhole }, { storageIdOf, presentOwn: presentWrapped }))
  singletons.set(
    'token',
    createTokenBackend({
      authority: tokens,
      roles: storage.view(KEYS.tokenRoles),
      clock,
      mountOf: (namespaceId) => {
        const entry = table.find('auth', namespaceId, 'token/')
        return { accessor: entry?.accessor ?? '', ...effectiveLeaseTtls(entry?.config ?? NO_CONFIG, leaseDefaults) }
      },
    }),
  )
  return services
}

const NO_CONFIG = { defaultLeaseTtlSeconds: 0, maxLeaseTtlSeconds: 0, forceNoCache: false }

/** Reads the tables, opens the mounts, and creates missing built-in parts of namespaces if they can be created here. */
export const openCoreServices = async (services: CoreServices): Promise<void> => {
  const { namespaces, table, mounts, policies, router, audit } = services
  await namespaces.load()
  await table.load()
  router.openAll()
  for (const namespace of namespaces.all()) {
    await mounts.ensureDefaults(namespace)
    await policies.ensureDefaults(namespace.id).catch(ignoreReadOnly)
  }
  await audit.load()
}

const ignoreReadOnly = (error: unknown): void => {
  if (!(error instanceof Error && 'code' in error && error.code === 'read-only')) throw error
}

export const closeCoreServices = async ({ router, audit }: CoreServices): Promise<void> => {
  await router.closeAll()
  await audit.close()
}

const askActiveNode = (): never => {
  throw new ForActiveNode()
}
