import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duplex, duplexPair } from 'node:stream'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { systemNetwork } from '../../src/base/network.js'
import type { Network } from '../../src/base/network.js'
import { createSeededRandom, createSystemRandom } from '../../src/base/random.js'
import { uuid } from '../../src/base/id.js'
import { createAuthority, issueCertificate } from '../../src/crypto/certificates.js'
import { certificatePem, privateKeyPem } from '../../src/crypto/pem.js'
import { StreamServer } from '../../src/replication/primary/stream-server.js'
import { createGrpcTransport } from '../../src/replication/rpc/grpc/grpc-transport.js'
import type { ClusterPort, ClusterTransport } from '../../src/replication/rpc/transport.js'
import type { SurplusEntries } from '../../src/replication/model/recent-frames.js'
import { Follower } from '../../src/replication/secondary/follower.js'
import type {
  Admission,
  HoldState,
  KeyFilter,
  Kind,
  PrimaryCredentials,
  PrimaryHooks,
  ReplicationTimes,
  SecondaryHooks,
  ServerIdentity,
  StreamState,
  PeerIdentity,
} from '../../src/replication/model/types.js'
import type { Engine } from '../../src/storage/engine/engine.js'
import { LevelEngine } from '../../src/storage/engine/level-engine.js'
import { MemoryEngine } from '../../src/storage/engine/memory-engine.js'
import type { Store, StoreOptions } from '../../src/storage/store/store.js'
import { openStore as openAnyStore } from './open-store.js'
import { until } from './until.js'

/** Primaries and followers over real sockets, without the rest of a server. */

export const TIMES: ReplicationTimes = {
  heartbeatIntervalMs: 50,
  keepaliveTimeMs: 500,
  keepaliveTimeoutMs: 500,
  backoffInitialMs: 5,
  backoffMaxMs: 20,
  connectTimeoutMs: 5000,
  bootstrapTimeoutMs: 5000,
  forwardingTimeoutMs: 5000,
  pingTimeoutMs: 2000,
}

export const openStore = (engine: Engine = new MemoryEngine(), options: Partial<StoreOptions> = {}): Promise<Store> =>
  openAnyStore({
    engine,
    clock: systemClock,
    syncWrites: false,
    walRetentionEntries: 262_144,
    ringBytes: 16 << 20,
    ...options,
  })

/**
 * Opens a store on disk. `stopAll` closes it before it deletes the directory, because LevelDB writes in the background.
 */
export const openDiskStore = async (options: Partial<StoreOptions> = {}): Promise<Store> => {
  const directory = await mkdtemp(join(tmpdir(), 'replication-'))
  const engine = await LevelEngine.open({ directory, createIfMissing: true })
  const store = await openStore(engine, options)
  stopLater({
    async stop() {
      await store.close()
      await engine.close()
      await rm(directory, { recursive: true, force: true })
    },
  })
  return store
}

export const put = (store: Store, key: string, value: string | Buffer): Promise<unknown> =>
  store.write((tx) => tx.put(key, Buffer.from(value)))

const running: { stop(): Promise<unknown> }[] = []

/** Registers an object for `stopAll`, which stops the last object first. */
export const stopLater = <T extends { stop(): Promise<unknown> }>(thing: T): T => {
  running.push(thing)
  return thing
}

/** Stops all registered objects; for `afterEach`. */
export const stopAll = async (): Promise<void> => {
  const endings: PromiseSettledResult<unknown>[] = []
  for (const thing of running.splice(0).reverse()) endings.push(...(await Promise.allSettled([thing.stop()])))
  const failed = endings.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Returns a gRPC transport over this network. */
export const transportOver = (network: Network, times: ReplicationTimes = TIMES): ClusterTransport =>
  createGrpcTransport({ network, clock: systemClock, times, log: silentLog })

/** Starts a primary and a connected follower over loopback, until `stopAll`. */
export const pair = async (
  kind: Kind,
  primaryStore: Store,
  secondaryStore: Store,
  options: {
    transport?: ClusterTransport
    network?: Network
    prepare?: (secondary: TestFollower, primary: TestPrimary) => void
  } = {},
) => {
  const set = await TestSet.create()
  const { transport = transportOver(options.network ?? systemNetwork) } = options
  const primary = stopLater(await TestPrimary.start({ kind, store: primaryStore, set, transport }))
  const secondary = await TestFollower.prepare({ kind, store: secondaryStore, set, id: 's', primary, transport })
  options.prepare?.(secondary, primary)
  secondary.follower.start()
  stopLater(secondary.follower)
  return { set, primary, secondary }
}

/**
 * A network that can reject new connections, cut all connections, or freeze them. A frozen connection stays open
 * without data.
 */
export class FaultyNetwork implements Network {
  readonly #links = new Set<{ readonly far: Duplex; readonly near: Duplex }>()
  readonly listen = systemNetwork.listen
  isDown = false
  dials = 0
  /** Bytes sent by callers, over all connections. */
  sentBytes = 0
  #isFrozen = false

  async dial(address: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<Duplex> {
    this.dials++
    if (this.isDown) throw new Error('the network is down')
    const far = await systemNetwork.dial(address, options)
    const [near, given] = duplexPair()
    const link = { far, near }
    far.pipe(near).pipe(far)
    near.on('data', (bytes: Buffer) => {
      this.sentBytes += bytes.length
    })
    for (const end of [far, near]) {
      end.on('error', () => end.destroy())
      end.once('close', () => {
        this.#links.delete(link)
        if (this.#isFrozen) return
        far.destroy()
        near.destroy()
        given.destroy()
      })
    }
    given.once('close', () => {
      if (!this.#isFrozen) far.destroy()
    })
    this.#links.add(link)
    if (this.#isFrozen) this.freeze()
    return given
  }

  cut(): void {
    for (const { far } of this.#links) far.destroy()
  }

  down(): void {
    this.isDown = true
    this.cut()
  }

  freeze(): void {
    this.#isFrozen = true
    for (const { far, near } of this.#links) {
      far.unpipe(near)
      near.unpipe(far)
      far.pause()
      near.pause()
    }
  }

  /** Allows new connections. Frozen connections are cut, as after the restart of a router. */
  thaw(): void {
    this.#isFrozen = false
    this.cut()
  }
}

/** A certificate authority of a replication set. */
export class TestSet {
  readonly setId = uuid(createSystemRandom())
  readonly identity: ServerIdentity
  readonly #authority: Awaited<ReturnType<typeof createAuthority>>

  private constructor(name: string, authority: Awaited<ReturnType<typeof createAuthority>>) {
    this.#authority = authority
    this.identity = {
      serverName: name,
      certificate: certificatePem(authority.certificate),
      privateKey: privateKeyPem(authority.privateKey),
    }
  }

  /** Creates a set. With the name of another set, it is an impostor: the same name with another key. */
  static async create(name = `rep-${uuid(createSystemRandom())}`): Promise<TestSet> {
    return new TestSet(name, await createAuthority({ name, nowMs: systemClock.now() }))
  }

  async credentials(commonName: string): Promise<PrimaryCredentials> {
    const issued = await issueCertificate(this.#authority, { name: commonName, nowMs: systemClock.now() })
    return {
      serverName: this.identity.serverName,
      caCertificate: this.identity.certificate,
      certificate: certificatePem(issued.certificate),
      privateKey: privateKeyPem(issued.privateKey),
    }
  }
}

export interface TestPrimaryOptions {
  readonly kind: Kind
  readonly store: Store
  readonly set: TestSet
  readonly listener?: ClusterPort
  readonly address?: string
  readonly transport?: ClusterTransport
  readonly epoch?: string
}

/** A primary that identifies secondaries by common name: `cn-<id>` belongs to the secondary `<id>`. */
export class TestPrimary {
  readonly registered = new Set<string>()
  readonly filters = new Map<string, KeyFilter>()
  readonly forwarded: string[] = []
  readonly addresses: string[] = []
  readonly server: StreamServer
  readonly listener: ClusterPort
  readonly who: PeerIdentity
  /** Runs after the registration of a secondary, before the response. */
  beforeBootstrapAnswer: () => Promise<void> = async () => undefined
  admission: ((commonName: string, who: PeerIdentity) => Admission | undefined) | undefined

  private constructor(options: TestPrimaryOptions, listener: ClusterPort) {
    this.listener = listener
    this.who = whoOf(options.set, 'primary', options.epoch ?? 'epoch-1', [`https://${listener.address}`])
    this.addresses.push(`https://${listener.address}`)
    this.server = new StreamServer({
      kind: options.kind,
      store: options.store,
      hooks: this.#hooks(),
      shipBatchBytes: 256 * 1024,
      clock: systemClock,
      log: silentLog,
    })
    this.server.attach(listener, options.set.identity)
  }

  static async start(options: TestPrimaryOptions): Promise<TestPrimary> {
    const listener =
      options.listener ??
      (await (options.transport ?? transportOver(systemNetwork)).listen(options.address ?? '127.0.0.1:0'))
    return new TestPrimary(options, listener)
  }

  revoke(id: string): void {
    this.registered.delete(id)
    this.server.revoke(id, `cn-${id}`)
  }

  async stop(): Promise<void> {
    await this.server.stop()
    await this.listener.close()
  }

  #hooks(): PrimaryHooks {
    return {
      who: () => this.who,
      admit: ({ commonName, who }) => {
        const special = this.admission?.(commonName, who)
        if (special) return special
        const id = commonName.replace(/^cn-/, '')
        if (!this.registered.has(id)) return { ok: false, code: 'revoked', text: `secondary "${id}" is not registered` }
        return { ok: true, secondaryId: id }
      },
      primaryAddresses: () => this.addresses,
      bootstrap: async (secondaryId) => {
        await this.beforeBootstrapAnswer()
        return {
          rootKey: Buffer.from('root'),
          records: [{ key: 'core/keyring', value: Buffer.from('ring') }],
          extra: JSON.stringify({ secondaryId }),
        }
      },
      forward: async (secondaryId, payload) => {
        this.forwarded.push(payload.toString())
        return Buffer.from(`${secondaryId} sent ${payload}`)
      },
      filterFor: (secondaryId) => this.filters.get(secondaryId),
    }
  }
}

export interface TestFollowerOptions {
  readonly kind: Kind
  readonly store: Store
  readonly set: TestSet
  readonly id: string
  readonly primary: TestPrimary
  readonly transport?: ClusterTransport
  readonly credentials?: PrimaryCredentials
  readonly addresses?: readonly string[]
  readonly incarnation?: number
  readonly clusterId?: string
}

/** A follower that records its states and can be held before a state. */
export class TestFollower {
  readonly states: StreamState[] = []
  readonly follower: Follower
  synced = 0
  reindexed = 0
  fingerprint = ''
  readonly surplus: SurplusEntries[] = []
  objection: string | undefined
  /** Called and awaited before each state. */
  onState: (state: HoldState, signal: AbortSignal) => Promise<void> = async () => undefined
  readonly #store: Store

  private constructor(options: TestFollowerOptions, credentials: PrimaryCredentials) {
    this.#store = options.store
    const who = {
      ...whoOf(options.set, options.clusterId ?? `cluster-${options.id}`, 'epoch-1', ['https://follower:1']),
      incarnation: options.incarnation ?? 0,
    }
    this.follower = new Follower({
      kind: options.kind,
      store: options.store,
      hooks: this.#hooks(who),
      credentials,
      addresses: options.addresses ?? [options.primary.listener.address],
      times: TIMES,
      importBytes: 2 * 1024 * 1024,
      clock: systemClock,
      random: createSeededRandom(options.id),
      transport: options.transport ?? transportOver(systemNetwork),
      log: silentLog,
    })
  }

  static async start(options: TestFollowerOptions): Promise<TestFollower> {
    const started = await TestFollower.prepare(options)
    started.follower.start()
    return started
  }

  /** Creates a follower without starting it, so that hooks can be set first. */
  static async prepare(options: TestFollowerOptions): Promise<TestFollower> {
    options.primary.registered.add(options.id)
    return new TestFollower(options, options.credentials ?? (await options.set.credentials(`cn-${options.id}`)))
  }

  /** Waits until the follower streams, and has the last index and the same roots as the primary. */
  async caughtUp(primary: Store, kind: Kind): Promise<void> {
    await until(
      () =>
        this.follower.state === 'stream-wals' &&
        this.follower.connectionState === 'ready' &&
        (this.follower.applied?.index ?? 0) >=
          (kind === 'dr' ? primary.lastShippedIndex : primary.lastReplicatedIndex) &&
        areEqual(primary, this.#store, kind),
    )
  }

  #hooks(who: PeerIdentity): SecondaryHooks {
    return {
      who: () => who,
      findObjection: () => this.objection,
      isAhead: () => this.surplus.length > 0,
      servesReads: () => true,
      beforeFiltered: async () => undefined,
      beforeFilterChange: async () => undefined,
      keepSurplus: async () => undefined,
      takeEpochs: async () => undefined,
      stopAhead: async (surplus) => {
        this.surplus.push(surplus)
      },
      beforeState: (state, signal) => this.onState(state, signal),
      onChange: () => {
        const { state } = this.follower
        if (this.states[this.states.length - 1] !== state) this.states.push(state)
      },
      filterFingerprint: () => this.fingerprint,
      reindex: async () => {
        this.reindexed++
        await this.#store.rebuild()
      },
      onCompared: async () => {},
      onEpochEnded: () => {},
      onSynced: async () => {
        this.synced++
      },
      onPrimaryAddresses: () => {},
    }
  }
}

export const areEqual = (a: Store, b: Store, kind: Kind): boolean =>
  a.trees.replicated.root().equals(b.trees.replicated.root()) &&
  (kind === 'performance' || a.trees.local.root().equals(b.trees.local.root()))

const whoOf = (set: TestSet, clusterId: string, epoch: string, clusterAddresses: readonly string[]): PeerIdentity => ({
  setId: set.setId,
  clusterId,
  version: '1.20.4+ent',
  epochs: [{ id: epoch, number: 1, parent: '', forkIndex: 0 }],
  apiAddress: `https://${clusterId}:8200`,
  clusterAddresses,
})
