import { afterEach } from 'vitest'
import { uuid } from '../../src/base/id.js'
import { createSystemRandom } from '../../src/base/random.js'
import type { MountEntry } from '../../src/core/mounts/mount-entry.js'
import { renderError } from '../../src/http/message/status-codes.js'
import { dispatch } from '../../src/logical/dispatch.js'
import type { IncomingRequest } from '../../src/logical/incoming.js'
import type { JsonObject } from '../../src/logical/json.js'
import type { Operation, Response } from '../../src/logical/request.js'
import type { Replication } from '../../src/replication/runtime/replication.js'
import type { Holds } from '../../src/replication/host/holds.js'
import type { ClusterPort } from '../../src/replication/rpc/transport.js'
import type { Kind } from '../../src/replication/model/types.js'
import type { SimulationOverrides } from '../../src/server/parts/parts.js'
import type { Runtime } from '../../src/server/runtime/runtime.js'
import type { Server } from '../../src/server/server.js'
import { type Answer, type Call, fetchWrapped, incomingOf } from '../../src/server/simulated/calls.js'
import type { OpenCluster } from '../../src/server/wiring/open-cluster.js'
import type { Barrier } from '../../src/storage/barrier/barrier.js'
import type { Store } from '../../src/storage/store/store.js'
import { makeRequest } from './backend-harness.js'
import { freePorts, localConfig } from './local-config.js'
import { startOpenServer } from './memory-server.js'
import { FaultyNetwork } from './replication-fixture.js'
import { until } from './until.js'

/** Settings of the stanza `understudy`. */
type Settings = Readonly<Record<string, string | boolean>>

/** Creates clusters that can reach each other, and stops them after each test of the file. */
export const openWorld = () => {
  const clusters = new Map<string, ControlCluster>()
  afterEach(async () => {
    for (const cluster of clusters.values()) {
      cluster.holds.release()
      await cluster.stop()
    }
    clusters.clear()
  })
  const start = (name: string, settings?: Settings) => ControlCluster.start(name, clusters, settings)
  const startTwo = async (kind: Kind, name: string, settings?: Settings) => {
    const [a, other] = [await start('a', settings), await start(name, settings)]
    await a.change(`replication/${kind}/primary/enable`)
    return [a, other] as const
  }
  return {
    clusters,
    start,
    /** Starts a primary `a`, and another cluster. */
    startTwo,
    /** Starts a primary `a`, and a secondary that has all of its data. */
    async startPair(kind: Kind, name: string, id = name) {
      const [a, other] = await startTwo(kind, name)
      await joinSet(other, kind, a, id)
      return [a, other] as const
    },
    /** Stops a cluster permanently. */
    async lose(cluster: ControlCluster) {
      clusters.delete(cluster.apiAddress)
      await cluster.stop()
    },
  }
}

export const operationToken = ({ replication }: ControlCluster): Promise<string> =>
  replication.context.operationTokens.create()

/** Changes the role of a secondary. Uses an operation token on a DR secondary. */
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

/** Waits until the secondary streams and has the same Merkle root as the primary. */
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

/** Demotes a primary, and makes it follow another primary of its set. */
export const demoteAndFollow = async (loser: ControlCluster, winner: ControlCluster, id: string): Promise<void> => {
  await loser.change('replication/dr/primary/demote')
  await changeSecondary(loser, 'dr', 'update-primary', { token: await issueToken(winner, 'dr', id) })
  await untilStreaming(loser, 'dr', winner)
}

export const promoteDr = (cluster: ControlCluster) => changeSecondary(cluster, 'dr', 'promote', { force: true })

/** Returns the error text of a rejected call, or an empty string. */
export const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return ''
}

const random = createSystemRandom()

/** A key of replicated data, in the mount `secret/`. */
export const SHARED_KEY = 'logical/m1/a'
/** The storage key of `secret/a`. */
export const FORWARDED_KEY = 'logical/m1/data/a'
/** A key that DR secondaries have and performance secondaries do not have. */
export const LOCAL_KEY = 'local/logical/m2/a'

const MOUNT: MountEntry = {
  uuid: 'm1',
  accessor: 'kv_1',
  kind: 'secret',
  path: 'secret/',
  namespaceId: 'root',
  type: 'kv',
  description: '',
  isLocal: false,
  sealWrap: false,
  externalEntropyAccess: false,
  options: null,
  config: { defaultLeaseTtlSeconds: 0, maxLeaseTtlSeconds: 0, forceNoCache: false },
}

const SETTINGS: Settings = {
  heartbeat_interval: '50ms',
  keepalive_time: '500ms',
  keepalive_timeout: '500ms',
  reconnect_backoff_initial: '5ms',
  reconnect_backoff_max: '20ms',
  bootstrap_timeout: '5s',
  forwarding_timeout: '5s',
  ping_timeout: '2s',
  demote_drain_timeout: '2s',
}

interface Parts {
  readonly name: string
  readonly network: FaultyNetwork
  readonly server: Server
  readonly rootToken: string
}

/** A server in this process with the mount `secret/`. Replication endpoints are called without a token. */
export class ControlCluster {
  readonly name: string
  /** The network of outgoing connections. */
  readonly network: FaultyNetwork
  readonly server: Server
  /** The root token from before the last wipe. */
  readonly rootToken: string
  #last: { readonly runtime: Runtime; readonly cluster: OpenCluster } | undefined

  private constructor({ name, network, server, rootToken }: Parts) {
    this.name = name
    this.network = network
    this.server = server
    this.rootToken = rootToken
  }

  static async start(
    name: string,
    others: Map<string, ControlCluster>,
    settings: Settings = {},
  ): Promise<ControlCluster> {
    const network = new FaultyNetwork()
    const { cluster: port } = await freePorts()
    const own = {
      api_addr: apiAddressOf(name),
      cluster_name: name,
      replication: { best_effort_wal_wait_duration: settings.forwarding_timeout ?? '2s' },
      understudy: { ...SETTINGS, ...settings },
    }
    const overrides: Pick<SimulationOverrides, 'fetchWrapped'> = {
      async fetchWrapped(call) {
        const primary = others.get(call.address)
        if (!primary) throw new Error(`connect ECONNREFUSED ${call.address}`)
        return fetchWrapped({ call: (one) => primary.send(one) }, call, name)
      },
    }
    const parts = { network, overrides: overrides as SimulationOverrides }
    const opened = await startOpenServer(parts, localConfig({ api: 0, cluster: port }, own))
    const cluster = new ControlCluster({ name, network, ...opened })
    others.set(cluster.apiAddress, cluster)
    await cluster.cluster.services.table.add([MOUNT])
    return cluster
  }

  get apiAddress(): string {
    return apiAddressOf(this.name)
  }

  get clusterId(): string {
    return this.#open.runtime.identity.clusterId
  }

  get holds(): Holds {
    return this.server.holds
  }

  get listener(): ClusterPort {
    return this.server.clusterPort
  }

  get replication(): Replication {
    return this.cluster.replication.replication
  }

  get cluster(): OpenCluster {
    return this.#open.cluster
  }

  get store(): Store {
    return this.#open.runtime.store
  }

  get barrier(): Barrier {
    return this.#open.runtime.barrier
  }

  /** Number of times that the data was replaced. */
  get wipes(): number {
    return this.server.host.storageGeneration - 1
  }

  /** While the data is replaced, returns the previous runtime. */
  get #open() {
    const { runtime } = this.server
    if (runtime?.cluster) this.#last = { runtime, cluster: runtime.cluster }
    if (!this.#last) throw new Error(`${this.name} was never open`)
    return this.#last
  }

  stop(): Promise<void> {
    return this.server.close(0)
  }

  /** Rebuilds the runtime from the stored data, as after a crash. */
  async restart(): Promise<void> {
    this.server.host.restart('a test asks for it')
    await this.settled()
  }

  /** Resolves when no role change is in progress. */
  settled(): Promise<void> {
    return this.server.host.settled()
  }

  async call(operation: Operation, path: string, data: JsonObject = {}): Promise<Response | undefined> {
    const backend = this.cluster.services.singletons.get('system')
    if (!backend) throw new Error('there are no system paths')
    return dispatch(backend, makeRequest(operation, `sys/${path}`, data), path)
  }

  post(path: string, data: JsonObject = {}): Promise<Response | undefined> {
    return this.call('update', path, data)
  }

  /** Sends a POST, and waits for the end of the restart that it causes. */
  async change(path: string, data: JsonObject = {}): Promise<Response | undefined> {
    const { runtime } = this.server
    const response = await this.post(path, data)
    await until(() => this.server.runtime !== runtime)
    await this.settled()
    return response
  }

  /** Sends a client request, by default with the root token. */
  async send(call: Call, more: Partial<IncomingRequest> = {}): Promise<Answer> {
    const request = { ...incomingOf(uuid(random), { token: this.rootToken, ...call }), ...more }
    const { status, body } = await this.server.handle(request).catch(renderError)
    return { status, json: body === '' ? {} : (JSON.parse(String(body)) as Answer['json']) }
  }

  /** Sends a write. Throws if it is rejected. */
  async write(path: string, body: JsonObject = {}): Promise<Answer['json']> {
    const { status, json } = await this.send({ method: 'PUT', path, body })
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`)
    return json
  }

  status(kind: Kind): JsonObject {
    return this.cluster.replication.statusData(kind)
  }

  async writeValue(key: string, value: string): Promise<void> {
    await this.barrier.write((tx) => tx.put(key, Buffer.from(value)))
  }

  readValue(key: string): string | undefined {
    return this.barrier.get(key)?.toString()
  }
}

const apiAddressOf = (name: string): string => `https://${name}:8200`
