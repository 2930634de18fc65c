import type { Route } from '../../core/mounts/router.js'
import { ForActiveNode } from '../../core/pipeline/for-active-node.js'
import { Consistency } from '../../core/pipeline/consistency.js'
import { type MountEntry, routePath } from '../../core/mounts/mount-entry.js'
import { RequestHandler } from '../../core/pipeline/request-handler.js'
import { PasswordPolicies } from '../../core/passwords/password-policies.js'
import { RequestQuotas } from '../../core/quotas/request-quotas.js'
import { findPath } from '../../logical/dispatch.js'
import type { Request, Response } from '../../logical/request.js'
import { createBackendTypes } from './backend-types.js'
import { closeCoreServices, type CoreServices, createCoreServices, openCoreServices } from './core-services.js'
import { createCoreTables, ReplicationParts } from './replication-parts.js'
import { isAnsweredAlone } from '../../core/system/answered-alone.js'
import { isForwardable } from '../../replication/forwarding/forwardable.js'
import type { DevServer } from '../../replication/host/host.js'
import type { OpenClusterOptions, ShellView } from '../parts/parts.js'
import { createSystemFamilies } from './system-families.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { KeyListeners } from '../../storage/keys/replicable.js'

/** An unsealed cluster: its core services, replication and request pipeline. */
export class OpenCluster {
  readonly services: CoreServices
  readonly replication: ReplicationParts
  readonly pipeline: RequestHandler
  readonly openedAtMs: number
  readonly clock: OpenClusterOptions['clock']
  readonly #options: OpenClusterOptions
  readonly #stop = new AbortController()
  #unfollow: () => void = () => undefined

  constructor(options: OpenClusterOptions) {
    const { config, runtime, shell, isStandby, clock, random } = options
    this.#options = options
    this.openedAtMs = clock.now()
    this.clock = clock
    const { barrier, store } = runtime
    const tables = createCoreTables(barrier.view(''))
    const replication = new ReplicationParts({ ...options, tables })
    const forwarder = isStandby ? { forward: sendToActiveNode } : replication.forwarder
    const passwordPolicies = new PasswordPolicies({ storage: barrier.view(KEYS.passwordPolicies), random })
    const database = {
      generatePassword: passwordPolicies.generate.bind(passwordPolicies),
      isFenced: () => replication.view.refusesWrites,
    }
    const types = createBackendTypes({ ...options, database })
    const services = createCoreServices({ ...options, tables, replication, forwarder, types })
    const { openedAtMs } = this
    services.singletons.set(
      'system',
      createSystemFamilies({
        ...options,
        services,
        replication,
        passwordPolicies,
        types: [...types.values()],
        openedAtMs,
      }),
    )
    this.replication = replication
    this.services = services
    this.pipeline = new RequestHandler({
      ...services,
      requestQuotas: new RequestQuotas({ quotas: services.quotas, clock }),
      hidesNamespace: (path) => replication.hidesNamespace(path),
      forwarder,
      mayForward: (asked) => isStandby || isForwardable(...forwardingKeyOf(asked)),
      answersAlone: isStandby ? (asked) => isAnsweredAlone(...forwardingKeyOf(asked), asked.rules) : undefined,
      refusesWrites: () => replication.view.refusesWrites,
      lastIndex: () => store.position.index,
      clock,
      recorder: shell.meter,
      consistency: new Consistency({
        clock,
        key: () => barrier.deriveKey('index-state'),
        own: () => ({
          clusterId: runtime.identity.clusterId,
          localIndex: store.position.index,
          replicatedIndex: store.lastReplicatedIndex,
        }),
        upstream: () => replication.upstream,
        isStandby,
        mayForward: config.replication.allowForwardingViaHeader,
        awaitMs: config.replication.bestEffortWalWaitMs,
        reachEnd: isStandby ? async (waitMs) => runtime.following?.reachEnd(waitMs) ?? false : undefined,
      }),
    })
  }

  /** Opens and starts the cluster. If a step fails, closes everything and rejects. */
  static async start(options: OpenClusterOptions): Promise<OpenCluster> {
    const cluster = new OpenCluster(options)
    try {
      await cluster.open()
      await cluster.#start()
      return cluster
    } catch (error) {
      await cluster.close()
      throw error
    }
  }

  async open(): Promise<void> {
    if (!this.#options.isStandby) this.replication.limitWrites()
    const caches = coreCaches(this.services, {
      onLeft: (entry) => this.#removeTokensOf(entry),
      onRemoved: (entry) => this.#removeLocalDataOf(entry),
    })
    this.#unfollow = this.#options.runtime.store.onChange(caches)
    await openCoreServices(this.services)
  }

  /** Starts replication and background work. A standby only follows the state of replication. */
  async #start(): Promise<void> {
    const { config, shell, isStandby } = this.#options
    if (isStandby) return this.replication.replication.follow()
    const { tokens, leases, cleanup, background } = this.services
    background.start(this.#stop.signal)
    if (!this.replication.view.isDrSecondary) {
      tokens.start(this.#stop.signal)
      leases.start(this.#stop.signal)
      this.#inBackground(
        cleanup.resume({ isSharedReadOnly: this.replication.isSharedReadOnly }),
        'cannot finish an interrupted deletion of data',
      )
    }
    await this.replication.start({
      executeForwarded: (request) => this.#executeForwarded(request),
      dev: config.dev && devServerOf(this.services, shell),
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    try {
      await this.replication.stop()
    } finally {
      await closeCoreServices(this.services).finally(() => this.#unfollow())
    }
  }

  /**
   * Removes the tokens of a mount that was moved or removed. The tokens are already invalid. Does nothing on a DR
   * secondary, which receives the removals from its primary, and on a standby, which receives them from the active
   * node.
   */
  #removeTokensOf(entry: MountEntry): void {
    if (entry.kind !== 'auth' || !this.#cleansUp) return
    const removal = this.services.tokens.removeStray(entry.namespaceId, routePath(entry))
    this.#inBackground(removal, 'cannot remove the tokens of a moved or removed mount')
  }

  /**
   * Deletes the local data of a mount that the primary has removed. Only this cluster can delete its local data. Does
   * nothing on a DR secondary and on a standby, which receive the deletions.
   */
  #removeLocalDataOf(entry: MountEntry): void {
    if (!this.#cleansUp) return
    this.#inBackground(this.services.cleanup.runLocal(entry), 'cannot delete the local data of a removed mount')
  }

  get #cleansUp(): boolean {
    return !(this.#options.isStandby || this.replication.view.isDrSecondary)
  }

  /**
   * Runs work in the background, and logs a failure. Does not log a failure while the cluster is closing, since the
   * next start resumes the work.
   */
  #inBackground(work: Promise<void>, failure: string): void {
    work.catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#options.log.warn(failure, { error })
    })
  }

  #executeForwarded(request: Request): Promise<Response | undefined> {
    const { id, operation } = request
    this.#options.log.debug('executing a request of a secondary', { request_id: id, operation })
    return this.pipeline.handleForwarded(request)
  }
}

const forwardingKeyOf = ({ mount, path, request }: Route & { readonly request: Request }) =>
  [mount.backend.type, findPath(mount.backend, path)?.spec.pattern ?? path, request.operation] as const

const sendToActiveNode = async (): Promise<never> => {
  throw new ForActiveNode()
}

/** Returns the access to the root token of a -dev server, for another -dev server that replicates with it. */
const devServerOf = ({ tokens }: Pick<CoreServices, 'tokens'>, shell: Pick<ShellView, 'devSecrets'>): DevServer => ({
  findRootToken() {
    const id = shell.devSecrets?.rootToken
    const entry = id === undefined ? undefined : tokens.find(id)
    return entry?.policies.includes('root') ? id : undefined
  },
  async plantRootToken(id) {
    if (!tokens.find(id)) await tokens.createRoot(id)
  },
})

interface MountEvents {
  /** Called when the mount was moved or removed. Each cluster must remove the tokens that it issued for the mount. */
  readonly onLeft: (entry: MountEntry) => void
  /** Called when the mount was removed. Only this cluster can delete its local data. */
  readonly onRemoved: (entry: MountEntry) => void
}

/**
 * Returns all caches of stored values, by key prefix. Reads fill the caches, and only these functions invalidate them.
 * A class that reads the storage each time has no cache.
 */
export const coreCaches = (services: CoreServices, { onLeft, onRemoved }: MountEvents) => {
  const { namespaces, table, router, policies, quotas, leaseQuotas, identity, tokens, audit } = services
  return {
    namespaces(key) {
      namespaces.refresh(key)
      // The mounts of the namespace may have arrived before the namespace.
      router.openAll(key.slice(KEYS.namespaces.length))
    },
    mounts(key, origin) {
      const before = table.findByKey(key)
      const left = table.refresh(key)
      // The node that made the change performs the cleanup itself.
      if (origin === 'own' || origin === 'followed') return
      if (left) onLeft(left)
      if (before && !table.findByKey(key)) onRemoved(before)
    },
    backends: (key) => router.invalidate(key),
    policies: (key) => policies.invalidate(key.slice(KEYS.policies.length)),
    quotas: (key) => quotas.refresh(key.slice(KEYS.quotas.length)),
    identity: (key) => identity.invalidate(key.slice(KEYS.identity.length)),
    tokens(key) {
      tokens.invalidate(key)
      leaseQuotas.note(key)
    },
    audit: (key) => audit.invalidate(key),
  } satisfies KeyListeners
}
