import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Network } from '../base/network.js'
import type { Random } from '../base/random.js'
import { aclPath } from '../core/acl.js'
import { Consistency } from '../core/consistency.js'
import { RequestHandler } from '../core/request-handler.js'
import { AUDIT_SUDO_PATHS, auditPaths } from '../core/system/audit-paths.js'
import { createSystemBackend } from '../core/system/backend.js'
import { capabilityPaths, type TokenAcl } from '../core/system/capability-paths.js'
import { keyringPaths } from '../core/system/keyring-paths.js'
import { leasePaths } from '../core/system/lease-paths.js'
import { metricsPaths } from '../core/system/metrics-paths.js'
import { mountPaths } from '../core/system/mount-paths.js'
import { namespacePaths } from '../core/system/namespace-paths.js'
import { nodePaths } from '../core/system/node-paths.js'
import { openApiPaths } from '../core/system/openapi-paths.js'
import { policyPaths } from '../core/system/policy-paths.js'
import { remountPaths } from '../core/system/remount-paths.js'
import { tunePaths } from '../core/system/tune-paths.js'
import { uiPaths } from '../core/system/ui-paths.js'
import { wrappingPaths } from '../core/system/wrapping-paths.js'
import type { TokenEntry } from '../core/tokens.js'
import type { Backend, PathSpec } from '../logical/backend.js'
import type { IncomingRequest } from '../logical/incoming.js'
import { ROOT_NAMESPACE, type Request, type Response } from '../logical/request.js'
import { upgradeToV2 } from '../secrets/kv/upgrade.js'
import { createBackendTypes } from './backend-types.js'
import type { ServerConfig } from './config.js'
import {
  type CoreServices,
  closeCoreServices,
  createCoreServices,
  followChanges,
  openCoreServices,
} from './core-services.js'
import {
  DR_ALLOWED_PATHS,
  REPLICATION_SUDO,
  REPLICATION_UNAUTHENTICATED,
  replicationPaths,
} from '../replication/paths.js'
import { readMetrics } from './metric-reading.js'
import { ReplicationParts } from './replication-parts.js'
import type { Runtime } from './runtime.js'
import { sanitizeConfig } from './sanitized-config.js'
import { writeStandardOutput } from './standard-output.js'
import type { ShellView } from './shell-view.js'

export interface OpenClusterOptions {
  readonly config: ServerConfig
  readonly runtime: Runtime
  readonly shell: ShellView
  /** The paths that exist in every state. */
  readonly statePaths: readonly PathSpec[]
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly log: Log
}

/** An unsealed cluster: core services, replication, and the pipeline over them. */
export class OpenCluster {
  readonly services: CoreServices
  readonly replication: ReplicationParts
  readonly #options: OpenClusterOptions
  readonly #handler: RequestHandler
  readonly #stop = new AbortController()
  readonly #openedAtMs: number
  #unfollow: () => void = () => undefined

  constructor(options: OpenClusterOptions) {
    const { config, runtime, clock, random, log } = options
    this.#options = options
    this.#openedAtMs = clock.now()
    const { barrier, store } = runtime
    this.services = createCoreServices(
      {
        storage: {
          view: (prefix) => barrier.view(prefix),
          deriveKey: (purpose) => barrier.deriveKey(purpose),
          position: () => store.position.index,
        },
        types: createBackendTypes(config),
        leaseDefaults: config,
        apiAddress: () => config.apiAddress,
        isReadOnly: () => this.replication.isSharedReadOnly,
        isHeldBack: (entry) => this.replication.isHeldBack(entry),
        standardOutput: writeStandardOutput,
        clock,
        random,
        log,
      },
      (services) => this.#systemBackend(services),
    )
    this.replication = new ReplicationParts({
      ...options,
      services: this.services,
      execute: (request) => this.executeForwarded(request),
    })
    this.#handler = new RequestHandler({
      ...this.services,
      gateState: () => ({
        isInitialized: true,
        isSealed: false,
        isRestarting: options.shell.status.isRestarting,
        isDrSecondary: this.replication.isDrSecondary,
        isBootstrapping: this.replication.view.isBootstrapping,
      }),
      drAllowed: config.unauthenticatedMetrics ? [...DR_ALLOWED_PATHS, 'metrics'] : DR_ALLOWED_PATHS,
      forwarder: this.replication.forwarder,
      refusesWrites: () => this.replication.view.refusesWrites,
      lastIndex: () => store.position.index,
      consistency: new Consistency({
        clock,
        key: () => barrier.deriveKey('index-state'),
        own: () => ({
          clusterId: runtime.identity.clusterId,
          localIndex: store.position.index,
          replicatedIndex: store.lastReplicatedIndex,
        }),
        upstream: () => this.replication.upstream,
        mayForward: config.replication.allowForwardingViaHeader,
        awaitMs: config.replication.bestEffortWalWaitMs,
      }),
    })
  }

  get isSecondary(): boolean {
    return this.replication.isDrSecondary || this.replication.isSharedReadOnly
  }

  get openedAtMs(): number {
    return this.#openedAtMs
  }

  async open(): Promise<void> {
    this.replication.limitWrites()
    await openCoreServices(this.services)
    this.#unfollow = this.#options.runtime.store.onCommit(({ mutations, origin }) => {
      if (origin === 'own') return
      followChanges(
        this.services,
        mutations.map(({ key }) => key),
      )
    })
  }

  /** Starts what works in the background. */
  async start(): Promise<void> {
    const { tokens, purge } = this.services
    if (!this.replication.isDrSecondary) tokens.start(this.#stop.signal)
    if (!this.isSecondary) {
      purge
        .resume()
        .catch((error: unknown) => this.#options.log.error('left-over data could not be deleted', { error }))
    }
    await this.replication.start()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#unfollow()
    await this.replication.stop()
    await closeCoreServices(this.services)
  }

  handle(request: IncomingRequest): Promise<Response | undefined> {
    return this.#handler.handle(request, request.namespaceHeader)
  }

  executeForwarded(request: Request): Promise<Response | undefined> {
    return this.#handler.handleForwarded(request)
  }

  #systemBackend(services: CoreServices): Backend {
    const { config, runtime, shell, statePaths, clock, random } = this.#options
    const { table, mounts, router, namespaces, policies, tokens, leases, wrapping, audit, purge } = services
    const mountDeps = { table, mounts, router, reportedVersion: config.own.reportedVersion }
    return createSystemBackend({
      paths: [
        ...statePaths,
        ...tunePaths({
          ...mountDeps,
          upgradeKv: async (entry) => {
            const mount = router.findByUuid(entry.uuid)
            if (mount) await upgradeToV2(mount.storage, clock.now())
          },
        }),
        ...mountPaths(mountDeps),
        ...remountPaths({ ...mountDeps, random }),
        ...uiPaths({ ...mountDeps, aclOf: (request) => this.#aclOf(request) }),
        ...policyPaths({ policies }),
        ...capabilityPaths({
          aclForToken: (presented) => this.#aclOfToken(tokens.find(presented)),
          aclForAccessor: (accessor) => this.#aclOfToken(tokens.findByAccessor(accessor)),
        }),
        ...wrappingPaths(wrapping),
        ...leasePaths({ leases, clock }),
        ...auditPaths({ audit }),
        ...keyringPaths({
          status: () => {
            const { term, sinceMs } = runtime.barrier.activeTerm
            return { term, installTimeMs: sinceMs, encryptions: runtime.barrier.encryptions }
          },
          rotate: async () => void (await runtime.barrier.rotate()),
        }),
        ...namespacePaths({
          namespaces,
          random,
          furnish: async (namespace) => {
            await mounts.ensureDefaults(namespace)
            await policies.ensureDefaults(namespace.id)
          },
          clear: async (namespace) => {
            await tokens.revokeByPathPrefix(namespace.id, '')
            for (const kind of ['secret', 'auth'] as const) {
              for (const entry of table.list(kind, namespace.id)) await mounts.discard(entry)
            }
            await policies.removeAll(namespace.id)
            await purge.deleteBelow(`sys/token-roles/${namespace.id}/`)
          },
        }),
        ...nodePaths({
          status: shell.status,
          clock,
          inFlight: shell.inFlight,
          versions: () => [{ version: config.own.reportedVersion, installedAtMs: this.#openedAtMs }],
          sanitizedConfig: () => sanitizeConfig(config),
        }),
        ...metricsPaths({ read: () => readMetrics(runtime, this, shell.meter), now: () => clock.now() }),
        ...openApiPaths({
          version: config.own.reportedVersion,
          mounts: (namespaceId) =>
            router
              .all()
              .filter(({ entry }) => entry.namespaceId === namespaceId)
              .map(({ view, backend }) => ({ path: view.path, backend })),
        }),
        ...replicationPaths(() => this.replication.replication.context),
      ],
      unauthenticated: [...REPLICATION_UNAUTHENTICATED, ...(config.unauthenticatedMetrics ? ['metrics'] : [])],
      sudo: [...AUDIT_SUDO_PATHS, ...REPLICATION_SUDO],
    })
  }

  #aclOf(request: Request): { acl: TokenAcl['acl']; prefix: string } | undefined {
    const presented = request.clientToken
    const token = presented === undefined ? undefined : this.services.tokens.find(presented)
    const rights = this.#aclOfToken(token)
    if (!rights || !token) return undefined
    const prefix = aclPath(token.namespace, request.namespace, '')
    return prefix === undefined ? undefined : { acl: rights.acl, prefix }
  }

  #aclOfToken(token: TokenEntry | undefined): TokenAcl | undefined {
    if (!token) return undefined
    const { policies, identity } = this.services
    const acl = policies.aclFor(token.policies, token.namespace, identity.findEntity(token.entityId))
    return { acl, namespace: token.namespace ?? ROOT_NAMESPACE }
  }
}
