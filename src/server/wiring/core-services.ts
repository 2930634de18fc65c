import { LIMITS } from '../../base/limits.js'
import { uuid } from '../../base/id.js'
import { createTokenBackend } from '../../auth/token/backend.js'
import { AuditBroker } from '../../core/audit/audit.js'
import { identityDirectory } from '../../core/identity/identity-directory.js'
import { PrimaryEntities } from '../../core/identity/primary-entities.js'
import { IdentityStore } from '../../core/identity/identity.js'
import { ForActiveNode } from '../../core/pipeline/for-active-node.js'
import type { RequestForwarder } from '../../core/pipeline/request-handler.js'
import { DEFAULT_CONFIG, effectiveLeaseTtls } from '../../core/mounts/mount-entry.js'
import { MountService } from '../../core/mounts/mounts.js'
import { PolicyStore } from '../../core/acl/policies.js'
import { MountCleanup } from '../../core/mounts/cleanup.js'
import { LeaseQuotas } from '../../core/quotas/lease-quotas.js'
import { Quotas } from '../../core/quotas/quotas.js'
import { Router } from '../../core/mounts/router.js'
import { LeaseIssuer } from '../../core/tokens/lease-issuer.js'
import { tokenCreation } from '../../core/tokens/token-metrics.js'
import { aclOf } from '../../core/tokens/token-rights.js'
import { TokenTidy } from '../../core/tokens/token-tidy.js'
import { TokenStore } from '../../core/tokens/tokens.js'
import { presentWrapped, Wrapping } from '../../core/wrapping/wrapping.js'
import type { Backend, BackendType } from '../../logical/backend.js'
import { isReadOnly } from '../../logical/errors.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'
import { createCubbyhole } from '../../secrets/cubbyhole/backend.js'
import { createIdentityBackend } from '../../secrets/identity/backend.js'
import { Background } from './background.js'
import { createLeaseParts } from './lease-parts.js'
import type { CoreTables, ReplicationParts } from './replication-parts.js'
import type { OpenClusterOptions } from '../parts/parts.js'
import { createWrappingSigner } from '../../core/wrapping/wrapping-signer.js'
import { WebSettings } from '../../core/system/web-paths.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface CoreServicesOptions extends OpenClusterOptions {
  readonly tables: CoreTables
  readonly replication: ReplicationParts
  readonly forwarder: RequestForwarder
  readonly types: ReadonlyMap<string, BackendType>
}

/** The services of an open cluster. They exist until the cluster is sealed or the runtime is replaced. */
export type CoreServices = ReturnType<typeof createCoreServices>

export const createCoreServices = (options: CoreServicesOptions) => {
  const { config, runtime, shell, replication, forwarder, isStandby, clock, random, log } = options
  const { barrier, store } = runtime
  const { namespaces, table } = options.tables
  const all = barrier.view('')
  const isReadOnly = () => isStandby || replication.isSharedReadOnly
  const isMountReadOnly = ({ isLocal }: { readonly isLocal: boolean }) => (isLocal ? isStandby : isReadOnly())
  const policies = new PolicyStore({ storage: barrier.view(KEYS.policies) })
  const identity = new IdentityStore({
    storage: barrier.view(KEYS.identity),
    random,
    clock,
    // Only the active node knows whether replication of the entity is still in progress.
    onAbsent: isStandby ? askActiveNode : undefined,
  })
  const primaryEntities = new PrimaryEntities({
    identity,
    askPrimary: (request) => forwarder.forward(request),
    upstream: () => replication.upstream,
  })
  const quotas = new Quotas({ storage: barrier.view(KEYS.quotas), namespaces, table })
  const audit = new AuditBroker({
    storage: all,
    clock,
    random,
    log: log.with({ logger: 'audit' }),
    standardOutput: writeStandardOutput,
    meter: shell.meter,
  })
  const cleanup = new MountCleanup(all)
  const singletons = new Map<string, Backend>()
  const router = new Router({
    table,
    namespaces,
    types: options.types,
    singletons,
    storageAt: (prefix) => barrier.view(prefix),
    leaseDefaults: config,
    worksInBackground: !isStandby,
    isReadOnly: isMountReadOnly,
    resolveTemplate: (text, entityId) => identity.resolveTemplate(text, entityId),
    presenceOf: (entry) => {
      const presence = replication.presenceOf(entry)
      // Only the active node knows whether replication of the rest of the data is still in progress.
      if (isStandby && (presence === 'arriving' || presence === 'stranded')) askActiveNode()
      return presence
    },
    clock,
    random,
    log,
  })
  const parts = { storage: all, router, replication, clock, random, log: log.with({ logger: 'expiration' }) }
  const { leases, withoutLeases } = createLeaseParts({ ...parts, isReadOnly: isMountReadOnly })
  const tokens = new TokenStore({
    storage: all,
    leases,
    deriveKey: (purpose) => barrier.deriveKey(purpose),
    clock,
    random,
    log: parts.log,
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
      return route?.mount.view ?? config
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
    renewalTimes: (entry, caller) => {
      const mount = router.find(entry.namespace, entry.path)?.mount
      if (!entry.origin || !mount?.backend.renew) throw new Error('no backend can renew the token of this login')
      return mount.backend.renew(entry.origin, caller)
    },
    onIssued: (entry) => {
      const mount = router.find(entry.namespace, entry.path)?.mount
      shell.meter.count(...tokenCreation(entry, mount && { type: mount.entry.type, path: mount.view.path }))
    },
    position: () => store.position.index,
  })
  const tidy = new TokenTidy({ tokens, leases, namespaces, log: parts.log })
  const leaseQuotas = new LeaseQuotas({ storage: all, quotas, tokens, namespaces, router })
  const mounts = new MountService({
    table,
    types: options.types,
    cleanup,
    leaseDefaults: config,
    revokeTokens: (namespaceId, prefix) => tokens.revokeByPathPrefix(namespaceId, prefix),
    withoutLeases,
    random,
  })
  const signer = createWrappingSigner({
    storage: all,
    clock,
    random,
    deriveKey: (purpose) => barrier.deriveKey(purpose),
    address: () => config.apiAddress,
    jwtKeys: shell.overrides?.jwtKeys,
  })
  const cubbyhole = barrier.view(KEYS.cubbyholes)
  const wrapping = new Wrapping({ tokens, cubbyhole, signer, clock })
  const services = {
    singletons,
    namespaces,
    table,
    mounts,
    router,
    policies,
    quotas,
    leaseQuotas,
    leaseIssuer: new LeaseIssuer({ leases, tokens }),
    identity,
    primaryEntities,
    leases,
    tokens,
    tidy,
    wrapping,
    audit,
    cleanup,
    web: new WebSettings(barrier.view(KEYS.webSettings)),
    background: new Background(options),
  }
  const directory = identityDirectory({
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
      roles: barrier.view(KEYS.tokenRoles),
      clock,
      beginTidy: () => tidy.begin(),
      mountOf: (namespaceId) => {
        const entry = table.find('auth', namespaceId, 'token/')
        return { accessor: entry?.accessor ?? '', ...effectiveLeaseTtls(entry?.config ?? DEFAULT_CONFIG, config) }
      },
    }),
  )
  return services
}

/**
 * Reads the tables and opens the mounts. Creates missing default mounts and policies unless they are read-only in this
 * cluster.
 */
export const openCoreServices = async (services: CoreServices): Promise<void> => {
  const { namespaces, table, mounts, policies, quotas, router, audit } = services
  await namespaces.load()
  await table.load()
  router.openAll()
  for (const namespace of namespaces.all()) {
    await mounts.ensureDefaults(namespace)
    await policies.ensureDefaults(namespace.id).catch(ignoreReadOnly)
  }
  await quotas.load()
  await audit.load()
}

const ignoreReadOnly = (error: unknown): void => {
  if (!isReadOnly(error)) throw error
}

export const closeCoreServices = async ({ router, leases, tidy, audit, background }: CoreServices): Promise<void> => {
  // Backends that close abort their calls of other systems, for which the others may wait.
  const closing = router.closeAll()
  await background.stop()
  await tidy.stop()
  await leases.stop()
  await closing
  await audit.close()
}

const askActiveNode = (): never => {
  throw new ForActiveNode()
}

/** Writes audit lines to standard output. Rejects if no reader consumes them, since a wait would block requests. */
const writeStandardOutput = async (text: string): Promise<void> => {
  if (process.stdout.writableLength > LIMITS.standardOutputBytesMax)
    throw new Error('standard output is not being read')
  process.stdout.write(text)
}
