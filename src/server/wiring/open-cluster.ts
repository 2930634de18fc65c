import { createApproleType } from '../../auth/approle/backend.js'
import { createUserpassType } from '../../auth/userpass/backend.js'
import type { Route } from '../../core/mounts/router.js'
import { ForActiveNode } from '../../core/pipeline/for-active-node.js'
import { Consistency } from '../../core/pipeline/consistency.js'
import { type MountEntry, routePath } from '../../core/mounts/mount-entry.js'
import { RequestHandler } from '../../core/pipeline/request-handler.js'
import type { BackendType } from '../../logical/backend.js'
import { findPath } from '../../logical/dispatch.js'
import type { Request, Response } from '../../logical/request.js'
import { kvType } from '../../secrets/kv/backend.js'
import { createTransitType } from '../../secrets/transit/backend.js'
import type { ServerConfig } from '../config/config.js'
import { closeCoreServices, type CoreServices, createCoreServices, openCoreServices } from './core-services.js'
import { createCoreTables, ReplicationParts } from './replication-parts.js'
import { isAnsweredAlone } from '../../core/system/answered-alone.js'
import { isForwardable } from '../../replication/forwarding/forwardable.js'
import type { DevServer } from '../../replication/host/host.js'
import type { OpenClusterOptions, ShellView } from '../parts/parts.js'
import { createSystemFamilies } from './system-families.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { KeyListeners } from '../../storage/keys/replicable.js'

/** An unsealed cluster: core services, replication, and the request pipeline. */
export class OpenCluster {
  readonly services: CoreServices
  readonly replication: ReplicationParts
  readonly pipeline: RequestHandler
  readonly openedAtMs: number
  readonly #options: OpenClusterOptions
  readonly #stop = new AbortController()
  #unfollow: () => void = () => undefined

  constructor(options: OpenClusterOptions) {
    const { config, runtime, shell, isStandby, clock } = options
    this.#options = options
    this.openedAtMs = clock.now()
    const { barrier, store } = runtime
    const tables = createCoreTables(barrier.view(''))
    const replication = new ReplicationParts({ ...options, tables })
    const forwarder = isStandby ? { forward: handOn } : replication.forwarder
    const types = createBackendTypes(config, shell)
    const services = createCoreServices({ ...options, tables, replication, forwarder, types })
    const { openedAtMs } = this
    services.singletons.set('system', createSystemFamilies({ ...options, services, replication, openedAtMs }))
    this.replication = replication
    this.services = services
    this.pipeline = new RequestHandler({
      ...services,
      hidesNamespace: (path) => replication.hidesNamespace(path),
      forwarder,
      mayForward: (asked) => isStandby || isForwardable(...placeOf(asked)),
      answersAlone: isStandby ? (asked) => isAnsweredAlone(...placeOf(asked)) : undefined,
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

  /** Opens and starts the cluster. If it rejects, nothing stays open. */
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

  /** Starts background work; none on a standby. */
  async #start(): Promise<void> {
    const { config, shell, isStandby } = this.#options
    if (isStandby) return this.replication.replication.follow()
    const { tokens, cleanup } = this.services
    if (!this.replication.view.isDrSecondary) {
      tokens.start(this.#stop.signal)
      this.#inBackground(
        cleanup.resume({ isSharedReadOnly: this.replication.isSharedReadOnly }),
        'left-over data could not be deleted',
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
   * Removes the tokens of a mount that was moved or removed. They are already invalid. Does nothing on a DR secondary or a
   * standby, which receives the removals from its primary or active node.
   */
  #removeTokensOf(entry: MountEntry): void {
    if (entry.kind !== 'auth' || !this.#deletesWhatIsLeft) return
    const removal = this.services.tokens.removeStray(entry.namespaceId, routePath(entry))
    this.#inBackground(removal, 'the tokens of a moved or removed mount could not be removed')
  }

  /**
   * Deletes the local data of a mount that the primary has removed. Only this cluster can delete it. Does nothing on a DR
   * secondary or a standby, which receives the deletions.
   */
  #removeLocalDataOf(entry: MountEntry): void {
    if (!this.#deletesWhatIsLeft) return
    this.#inBackground(this.services.cleanup.runLocal(entry), 'the local data of a removed mount could not be deleted')
  }

  get #deletesWhatIsLeft(): boolean {
    return !(this.#options.isStandby || this.replication.view.isDrSecondary)
  }

  /**
   * Runs work in the background and logs a failure. If the cluster is closing, unfinished work is not a failure: the next
   * start resumes it.
   */
  #inBackground(work: Promise<void>, failure: string): void {
    work.catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#options.log.warn(failure, { error })
    })
  }

  #executeForwarded(request: Request): Promise<Response | undefined> {
    const { id, operation } = request
    this.#options.log.debug('a request of a secondary is executed', { request_id: id, operation })
    return this.pipeline.handleForwarded(request)
  }
}

/** Creates the types that can be mounted. `generic` is the old name of KV version 1. */
const createBackendTypes = (
  config: ServerConfig,
  { passwords, overrides }: Pick<ShellView, 'passwords' | 'overrides'>,
): ReadonlyMap<string, BackendType> => {
  const { userLockout, own } = config
  const approle = createApproleType({ tidyIntervalMs: own.approleTidyIntervalMs, lockout: userLockout.approle })
  const userpass = createUserpassType({ passwords, lockout: userLockout.userpass })
  const transit = createTransitType(overrides?.makePrivateKey)
  const types = [kvType, { ...kvType, name: 'generic' }, transit, approle, userpass]
  return new Map(types.map((type) => [type.name, type]))
}

const placeOf = ({ mount, path, request }: Route & { readonly request: Request }) =>
  [mount.backend.type, findPath(mount.backend, path)?.spec.pattern ?? path, request.operation] as const

const handOn = async (): Promise<never> => {
  throw new ForActiveNode()
}

/** Reads and sets the root token of a -dev server, for another -dev server that replicates with it. */
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
  /** The mount was moved or removed. Each cluster must remove its own tokens that the mount has issued. */
  readonly onLeft: (entry: MountEntry) => void
  /** The mount was removed. Only this cluster can delete its local data. */
  readonly onRemoved: (entry: MountEntry) => void
}

/**
 * Returns all caches of stored values in the core, by key prefix. They are filled by reads, and invalidated only through
 * this list. Parts that read storage every time are not listed.
 */
export const coreCaches = (services: CoreServices, { onLeft, onRemoved }: MountEvents) => {
  const { namespaces, table, router, policies, identity, tokens, audit } = services
  return {
    namespaces(key) {
      namespaces.refresh(key)
      // Its mounts may have arrived first.
      router.openAll(key.slice(KEYS.namespaces.length))
    },
    mounts(key, origin) {
      const before = table.findByKey(key)
      const left = table.refresh(key)
      // The node that made the change handles its effects on mounts.
      if (origin === 'own' || origin === 'followed') return
      if (left) onLeft(left)
      if (before && !table.findByKey(key)) onRemoved(before)
    },
    backends: (key) => router.invalidate(key),
    policies: (key) => policies.invalidate(key.slice(KEYS.policies.length)),
    identity: (key) => identity.invalidate(key.slice(KEYS.identity.length)),
    tokens: (key) => tokens.invalidate(key),
    audit: (key) => audit.invalidate(key),
  } satisfies KeyListeners
}
