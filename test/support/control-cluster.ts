import { afterEach } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { base62, uuid } from '../../src/base/id.js'
import { silentLog } from '../../src/base/log.js'
import { createSystemRandom } from '../../src/base/random.js'
import type { Backend } from '../../src/logical/backend.js'
import { dispatch } from '../../src/logical/dispatch.js'
import { invalid, LogicalError } from '../../src/logical/errors.js'
import type { JsonObject } from '../../src/logical/json.js'
import type { Operation, Response, WrapInfo } from '../../src/logical/request.js'
import { createDataPlane } from '../../src/replication/runtime/data-plane.js'
import type { MountFact, NamespaceFact } from '../../src/replication/model/compile-filter.js'
import { Holds } from '../../src/replication/host/holds.js'
import type {
  KeyMaterial,
  MountFollower,
  PathServices,
  PlainRecord,
  ReplicationHost,
  ReplicationSettings,
  RoleServices,
} from '../../src/replication/host/host.js'
import { NO_ATTEMPT } from '../../src/replication/model/operation-token.js'
import { replicationPaths } from '../../src/replication/paths/paths.js'
import { Replication } from '../../src/replication/runtime/replication.js'
import type { ClusterPort, ClusterTransport } from '../../src/replication/rpc/transport.js'
import type { Kind } from '../../src/replication/model/types.js'
import { Barrier } from '../../src/storage/barrier/barrier.js'
import type { Entry } from '../../src/storage/engine/engine.js'
import { openMemoryGenerations } from '../../src/storage/engine/memory-generations.js'
import { dataKey } from '../../src/storage/keys/raw-keys.js'
import type { Category } from '../../src/storage/keys/key-families.js'
import type { Store } from '../../src/storage/store/store.js'
import { GenerationMove } from '../../src/storage/generations/generation-move.js'
import { FENCED } from '../../src/server/wiring/write-fence.js'
import { makeRequest } from './backend-harness.js'
import { FaultyNetwork, openStore, TIMES, transportOver } from './replication-fixture.js'
import { sealRecordsOf } from './seal-records.js'
import { until } from './until.js'

/** Opens a world of control clusters that know one another, and stops them after each test of the file. */
export const openWorld = () => {
  const clusters = new Map<string, ControlCluster>()
  afterEach(async () => {
    for (const cluster of clusters.values()) {
      cluster.holds.release()
      await cluster.stop()
    }
    clusters.clear()
  })
  const start = (name: string, prepare?: (cluster: ControlCluster) => void) =>
    ControlCluster.start(name, clusters, prepare)
  const startTwo = async (kind: Kind, name: string, prepare?: (cluster: ControlCluster) => void) => {
    const [a, other] = [await start('a', prepare), await start(name, prepare)]
    await a.change(`replication/${kind}/primary/enable`)
    return [a, other] as const
  }
  return {
    clusters,
    start,
    /** Starts a primary `a`, and another cluster. */
    startTwo,
    /** Starts a primary `a`, and a secondary of it that has all of its data. */
    async startPair(kind: Kind, name: string, id = name) {
      const [a, other] = await startTwo(kind, name)
      await joinSet(other, kind, a, id)
      return [a, other] as const
    },
    /** Stops a cluster for good. */
    async lose(cluster: ControlCluster) {
      clusters.delete(cluster.apiAddress)
      await cluster.stop()
    },
  }
}

export const operationToken = ({ replication }: ControlCluster): Promise<string> =>
  replication.context.operationTokens.create()

/** Changes the role of a secondary, with an operation token on a DR secondary. */
export const changeSecondary = async (
  cluster: ControlCluster,
  kind: Kind,
  operation: string,
  data: JsonObject = {},
): Promise<Response | undefined> => {
  const token = kind === 'dr' ? { dr_operation_token: await operationToken(cluster) } : {}
  return cluster.change(`replication/${kind}/secondary/${operation}`, { ...token, ...data })
}

export const issueToken = async (primary: ControlCluster, kind: Kind, id: string): Promise<string> => {
  const response = await primary.post(`replication/${kind}/primary/secondary-token`, { id })
  return response?.wrapInfo?.token ?? ''
}

/** Resolves when the secondary follows the primary and has all of it. */
export const untilStreaming = (secondary: ControlCluster, kind: Kind, primary: ControlCluster): Promise<void> =>
  until(() => {
    const { mode, state, connection_state, merkle_root } = secondary.status(kind)
    const isStreaming = mode === 'secondary' && state === 'stream-wals' && connection_state === 'ready'
    return isStreaming && merkle_root === primary.status(kind).merkle_root
  })

export const joinSet = async (
  secondary: ControlCluster,
  kind: Kind,
  primary: ControlCluster,
  id: string,
): Promise<void> => {
  await secondary.change(`replication/${kind}/secondary/enable`, { token: await issueToken(primary, kind, id) })
  await untilStreaming(secondary, kind, primary)
}

/** Demotes a primary and has it follow another one of its set. */
export const yieldTo = async (loser: ControlCluster, winner: ControlCluster, id: string): Promise<void> => {
  await loser.change('replication/dr/primary/demote')
  await changeSecondary(loser, 'dr', 'update-primary', { token: await issueToken(winner, 'dr', id) })
  await untilStreaming(loser, 'dr', winner)
}

export const promoteDr = (cluster: ControlCluster) => changeSecondary(cluster, 'dr', 'promote', { force: true })

/** The text of a refusal; empty when there was none. */
export const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return ''
}

const random = createSystemRandom()

/** A key of shared data, as a mount with the uuid `m1` would write it. */
export const SHARED_KEY = 'logical/m1/a'
/** A key that DR copies have and performance secondaries do not. */
export const LOCAL_KEY = 'local/logical/m2/a'

/**
 * A cluster with everything but core and HTTP: engine, store, barrier, cluster port, and replication with its paths. It
 * restarts as a server does: everything is torn down and derived again from what is stored.
 */
export class ControlCluster {
  readonly clusterId = uuid(random)
  readonly name: string
  readonly holds = new Holds()
  /** What this cluster dials with. */
  readonly network = new FaultyNetwork()
  readonly wrapped = new Map<string, { readonly payload: JsonObject; readonly creationPath: string }>()
  readonly batchTokens = new Map<string, readonly string[]>()
  settings: ReplicationSettings = {
    times: TIMES,
    bestEffortWalWaitMs: 2000,
    demoteDrainTimeoutMs: 2000,
    fenceClientWrites: false,
    allowOlderSecondary: false,
    isDevelopment: false,
    hasSeveralNodes: false,
  }
  version = '1.20.4+ent'
  license: ReplicationHost['license'] = 'enterprise'
  mounts: MountFact[] = [{ uuid: 'm1', path: 'secret/', namespacePath: '', type: 'kv', isLocal: false }]
  namespaces: NamespaceFact[] = [{ id: 'root', path: '' }]
  /** Runs between a forwarded write and its answer. */
  beforeForwardedAnswer: () => Promise<void> = async () => undefined
  restarts = 0
  wipes = 0
  replication!: Replication
  #backend!: Backend
  store!: Store
  barrier!: Barrier
  listener!: ClusterPort
  transport!: ClusterTransport
  readonly #others: Map<string, ControlCluster>
  #source = openMemoryGenerations()
  #destruction: GenerationMove | undefined
  #rootKey: Buffer | undefined
  #mountFollower: MountFollower | undefined
  #restarting: Promise<void> = Promise.resolve()

  private constructor(name: string, others: Map<string, ControlCluster>) {
    this.name = name
    this.#others = others
  }

  get apiAddress(): string {
    return `https://${this.name}:8200`
  }

  static async start(
    name: string,
    others: Map<string, ControlCluster>,
    prepare: (cluster: ControlCluster) => void = () => undefined,
  ): Promise<ControlCluster> {
    const cluster = new ControlCluster(name, others)
    prepare(cluster)
    others.set(cluster.apiAddress, cluster)
    cluster.transport = transportOver(cluster.network, cluster.settings.times)
    cluster.listener = await cluster.transport.listen('127.0.0.1:0')
    await cluster.#boot()
    return cluster
  }

  async stop(): Promise<void> {
    await this.#restarting
    await this.replication.stop()
    await this.#destruction?.stop()
    await this.store.close()
    await this.listener.close()
  }

  /** Takes a value from the disk, and nothing that tells of it. */
  async loseValue(key: string): Promise<void> {
    const batch = this.#source.engine.batch()
    batch.delete(dataKey(key))
    await batch.write({ isDurable: true })
  }

  /** A crash of everything but the disk, and a start. */
  async restart(): Promise<void> {
    await this.#restarting
    await this.#reboot(() => Promise.resolve())
  }

  /** All that is on the disk now. The function puts it back, as an operator restores an older copy of a disk. */
  async copyDisk(): Promise<() => Promise<void>> {
    const copy: Entry[] = []
    for await (const chunk of this.#source.engine.scan({ gte: '' })) copy.push(...chunk)
    return async () => {
      await this.#restarting
      await this.#reboot(async () => {
        this.#source = openMemoryGenerations()
        const batch = this.#source.engine.batch()
        for (const { key, value } of copy) batch.put(key, value)
        await batch.write({ isDurable: true })
      })
    }
  }

  async call(operation: Operation, path: string, data: JsonObject = {}): Promise<Response | undefined> {
    return dispatch(this.#backend, makeRequest(operation, `sys/${path}`, data), path)
  }

  post(path: string, data: JsonObject = {}): Promise<Response | undefined> {
    return this.call('update', path, data)
  }

  /** Posts, and waits until the restart that it caused is over. */
  async change(path: string, data: JsonObject = {}): Promise<Response | undefined> {
    const before = this.restarts
    const response = await this.post(path, data)
    await until(() => this.restarts > before)
    await this.#restarting
    return response
  }

  status(kind: Kind): JsonObject {
    return this.replication.status(kind).data as JsonObject
  }

  async writeValue(key: string, value: string): Promise<void> {
    await this.barrier.write((tx) => tx.put(key, Buffer.from(value)))
  }

  /** Moves a mount as the mount table does; without a path it is unmounted. Secondaries are told by hand. */
  async moveMount(uuid: string, path?: string, namespacePath = ''): Promise<void> {
    const before = this.mounts.find((mount) => mount.uuid === uuid)
    if (!before) throw new Error(`no mount ${uuid}`)
    const after = path === undefined ? undefined : { ...before, path, namespacePath }
    let settled = () => {}
    const stored = this.barrier.write((tx) => {
      settled = this.#mountFollower?.mountChanged(tx, { before, after }) ?? settled
      tx.put(`core/mounts/${uuid}`, Buffer.from(String(path)))
      this.mounts = this.mounts.flatMap((mount) => (mount.uuid === uuid ? (after ?? []) : mount))
    })
    await stored.finally(() => settled())
  }

  readValue(key: string): string | undefined {
    return this.barrier.get(key)?.toString()
  }

  readonly #services: PathServices & RoleServices = {
    wrapActivation: async (payload, ttlSeconds, creationPath): Promise<WrapInfo> => {
      const claims = Buffer.from(JSON.stringify({ addr: this.apiAddress, jti: base62(random, 24) }))
      const token = `e30.${claims.toString('base64url')}.${base62(random, 24)}`
      this.wrapped.set(token, { payload, creationPath })
      const creationTime = new Date(systemClock.now()).toISOString()
      return { token, accessor: '', ttlSeconds, creationTime, creationPath, wrappedAccessor: '' }
    },
    authorize: () => undefined,
    isBatchTokenAllowed: (token, request) => this.batchTokens.get(token)?.includes(request.path) ?? false,
    generation: {
      status: () => ({ ...NO_ATTEMPT }),
      start: () => Promise.reject(invalid('the ceremony is not part of this cluster')),
      cancel: () => undefined,
      update: () => Promise.reject(invalid('the ceremony is not part of this cluster')),
    },
    executeForwarded: async (request) => {
      if (request.path === 'fails') throw new LogicalError('permission-denied', 'no', { wrapped: true })
      await this.writeValue(SHARED_KEY, String(request.data.value))
      await this.beforeForwardedAnswer()
      return { data: { by: this.name } }
    },
    dev: undefined,
    licenseStatus: () => ({ autoloading_used: true }),
  }

  async #boot(): Promise<void> {
    this.store = await openStore(this.#source.engine)
    this.barrier = new Barrier({ store: this.store, clock: systemClock, random })
    this.#rootKey ??= random.bytes(32)
    if (!this.barrier.isInitialized) await this.barrier.initialize(this.#rootKey)
    this.barrier.unseal(this.#rootKey)
    const host = this.#host()
    const dataPlane = createDataPlane({
      host,
      port: this.listener,
      transport: this.transport,
      shipBatchBytes: 256 * 1024,
    })
    this.replication = new Replication({ host, dataPlane, holds: this.holds })
    this.#backend = {
      type: 'system',
      paths: replicationPaths({ ...this.replication.context, services: this.#services }),
    }
    await this.replication.start(this.#services)
    this.#limitWrites()
  }

  #limitWrites(): void {
    const { isDrSecondary, isPerformanceSecondary } = this.replication.view
    const categories: Category[] = isDrSecondary ? ['ignored'] : isPerformanceSecondary ? ['ignored', 'local'] : ALL
    this.store.setWritable(new Set(categories))
  }

  async #reboot(between: () => Promise<void>): Promise<void> {
    await this.replication.stop()
    await this.#destruction?.stop()
    await this.store.close()
    await between()
    await this.#boot()
    this.restarts++
  }

  async #wipe(keyMaterial: KeyMaterial, records: readonly PlainRecord[]): Promise<void> {
    this.#source = openMemoryGenerations()
    this.#rootKey = keyMaterial.rootKey
    const store = await openStore(this.#source.engine)
    const barrier = new Barrier({ store, clock: systemClock, random })
    await store.importMutations(keyMaterial.records)
    barrier.unseal(keyMaterial.rootKey)
    await barrier.write((tx) => {
      for (const { key, value } of records) tx.put(key, value)
    })
    await store.close()
    this.wipes++
  }

  #host(): ReplicationHost {
    const cluster = this
    const { store, barrier } = this
    const destruction = new GenerationMove({
      source: this.#source,
      store,
      clock: systemClock,
      random,
      log: silentLog,
    })
    this.#destruction = destruction
    const later = (work: () => Promise<void>) => {
      this.#restarting = this.#restarting.then(work)
    }
    return {
      identity: {
        clusterId: this.clusterId,
        clusterName: this.name,
        apiAddress: this.apiAddress,
        clusterAddress: `https://${this.listener.address}`,
        clusterAddresses: [`https://${this.listener.address}`],
        reportedVersion: this.version,
      },
      settings: this.settings,
      license: this.license,
      isLeading: () => true,
      clock: systemClock,
      random,
      log: silentLog,
      storage: barrier.view(''),
      store,
      trees: store,
      async commit(write) {
        store.setWritable(new Set(ALL))
        await barrier.write(write)
        cluster.#limitWrites()
      },
      exportKeyMaterial() {
        if (!cluster.#rootKey) throw new Error('the cluster was never started')
        return { rootKey: cluster.#rootKey, records: sealRecordsOf(store) }
      },
      async wipeAndRestart({ keyMaterial, records }) {
        later(() => cluster.#reboot(() => cluster.#wipe(keyMaterial, records)))
      },
      async fenceWrites(kind) {
        await store.fence(FENCED[kind])
        return () => store.lift()
      },
      restart() {
        later(() => cluster.#reboot(() => Promise.resolve()))
      },
      destroyDeleted() {
        destruction.schedule()
      },
      async fetchWrapped({ address, token, step }) {
        const primary = cluster.#others.get(address)
        if (!primary) throw new Error(`connect ECONNREFUSED ${address}`)
        const wrapped = primary.wrapped.get(token)
        if (step === 'unwrap') primary.wrapped.delete(token)
        const data = step === 'unwrap' ? wrapped?.payload : wrapped && { creation_path: wrapped.creationPath }
        return data
          ? { status: 200, body: JSON.stringify({ data }) }
          : { status: 400, body: JSON.stringify({ errors: ['wrapping token is not valid or does not exist'] }) }
      },
      mounts: () => cluster.mounts,
      namespaces: () => cluster.namespaces,
      followMounts: (follower) => {
        cluster.#mountFollower = follower
      },
    }
  }
}

const ALL: Category[] = ['replicated', 'local', 'ignored']
