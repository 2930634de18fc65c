import { messageOf } from '../../base/printable.js'
import type { SealJoin } from '../../core/seal/seal-records.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { removeGenerations } from '../../storage/engine/generation-record.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'
import { openCopy } from '../data/shared-storage.js'
import { aloneServer, Autopilot, ClusterMaintenance, removeNode } from './autopilot.js'
import { StorageMigration } from './storage-migration.js'
import { JoinClient } from './join-client.js'
import { hasCluster, JoinRefused, type LeaderAddress, leaderOf } from './leader-api.js'
import { type Membership, type PeerRecord, type PeersOptions, readMembership, writeMembership } from './membership.js'
import { EtcdProcess, peerAddressOf } from './etcd-process.js'
import { PeersContext, type PeersHost } from './peers-context.js'
import type { JoinResponse } from './proof.js'
import { JoinServer, requireEtcd, requireJoinable } from './join-server.js'

/** The pending unseal of a server that waits for a majority of the nodes. It accepts no shares yet. */
const AWAITED: SealJoin = { config: { shares: 0, threshold: 0 }, shares: 'too-early', open: async () => false }

/**
 * Manages the cluster membership of a server with storage `raft`: joins and removals of nodes, and the etcd process of
 * this server.
 */
export class Peers {
  readonly #context: PeersContext
  readonly #joinClient: JoinClient
  readonly #joinServer: JoinServer
  readonly #migration: StorageMigration
  readonly #maintenance: ClusterMaintenance
  readonly #autopilot: Autopilot
  #membership: Membership
  /** Set while this server waits for a majority of the nodes. Until then it cannot read the data of its cluster. */
  #awaited: SealJoin | undefined

  private constructor(options: PeersOptions, membership: Membership) {
    this.#membership = membership
    const context = new PeersContext(options, () => this.#onRemoved())
    this.#context = context
    this.#autopilot = new Autopilot(context, (nodeId) => this.remove(nodeId))
    this.#joinClient = new JoinClient(context, (welcome) => this.#enter(welcome))
    this.#joinServer = new JoinServer(context, this.#autopilot.revokeRemoved)
    this.#migration = new StorageMigration(context, {
      certify: (address) => this.#joinServer.certify(address),
      decide: async (member, etcd) => {
        await this.#keep({ state: 'joined', member })
        context.etcd = etcd
      },
      undo: () => this.#keep(this.#membership),
    })
    this.#maintenance = new ClusterMaintenance(context)
  }

  static async open(options: PeersOptions): Promise<Peers> {
    return new Peers(options, await readMembership(options.directory))
  }

  get membership(): Membership {
    return this.#membership
  }

  /** The cluster whose shares unseal this server before it has the cluster's data; undefined if there is none. */
  get sealJoin(): SealJoin | undefined {
    return this.#joinClient.pending ?? this.#awaited
  }

  /** Connects to the assembled server. Stops the server from serving if this node was removed. */
  serve(host: PeersHost): void {
    this.#context.known = host
    if (this.#membership.state === 'removed') host.beRemoved()
  }

  /**
   * If this server belongs to a cluster, opens the cluster's data once the nodes are reachable. Otherwise joins the
   * configured nodes.
   */
  begin(): void {
    const { etcd } = this.#context
    if (etcd) void this.#openData(etcd, 'a majority of the nodes is reachable')
    else this.#joinConfigured()
  }

  #joinConfigured(): void {
    const { retryJoin = [] } = this.#context.options.config.storage
    if (this.#membership.state !== 'alone' || retryJoin.length === 0) return
    this.#joinClient.keepJoining(retryJoin.map((one) => () => leaderOf(one)))
  }

  /** Starts the etcd process of this server. The data is available once a majority of the members runs. */
  async startNode(): Promise<void> {
    const { options, onRemoved } = this.#context
    if (this.#membership.state !== 'joined') throw new Error('there are no other nodes')
    await removeGenerations(options.directory)
    this.#context.etcd = await EtcdProcess.start(options, this.#membership.member, onRemoved)
    this.#awaited = AWAITED
    options.log.info('the etcd process of this node started; waiting for a quorum of members')
  }

  /** True while this node waits for a majority of the nodes. */
  get isAwaitingOthers(): boolean {
    return this.#awaited !== undefined
  }

  /**
   * Joins the cluster of the leader. Returns false if the first attempt failed and the join continues in the
   * background. Rejects with LogicalError 500 that names the cause.
   */
  async join(leader: LeaderAddress, { isRetried }: { readonly isRetried: boolean }): Promise<boolean> {
    const { options, runtime } = this.#context
    if (this.#membership.state === 'joined' || leader.address === options.config.apiAddress) return true
    if (runtime.seal.keys.config) throw hasCluster()
    try {
      await this.#joinClient.join(leader)
      return true
    } catch (error) {
      if (!isRetried || error instanceof JoinRefused) {
        throw new LogicalError('internal', messageOf(error), { cause: error })
      }
      this.#joinClient.keepJoining([() => leader])
      return false
    }
  }

  challenge(serverId: string) {
    this.#requireProgram()
    return this.#joinServer.challenge(serverId)
  }

  /**
   * Returns the data for a joining server. Rejects with LogicalError 403 if the answer to the challenge is wrong, and
   * 503 while the storage migrates to several nodes.
   */
  async answer(peer: PeerRecord, answer: string): Promise<string> {
    this.#requireProgram()
    requireJoinable(this.#context.runtime)
    const secret = this.#joinServer.requireProof(peer, answer)
    await this.#joinServer.requireNew(peer)
    const { etcd, options } = this.#context
    if (this.#membership.state !== 'joined' || !etcd) {
      this.#migration.begin()
      throw this.#migration.refusal
    }
    const welcome = await this.#joinServer.admit(peer, secret, etcd, this.#membership.member.token)
    options.log.info('a server joins the cluster', { node: peer.nodeId, address: peer.peerAddress })
    this.#maintenance.begin()
    return welcome
  }

  /** Returns the nodes of the cluster with their health. Runs on the active node. */
  async servers(): Promise<readonly RaftServer[]> {
    const { store, cluster } = this.#context.runtime
    const alone = { lastIndex: store.position.index, stableSinceMs: cluster?.openedAtMs }
    return (await this.#autopilot.servers()) ?? [aloneServer(this.#context.options.config, alone)]
  }

  /** Removes a node permanently. Does nothing if the ID is unknown. */
  async remove(nodeId: string): Promise<void> {
    const servers = await this.servers()
    if (!servers.some((server) => server.nodeId === nodeId)) return
    await removeNode(nodeId, this.#context, servers, this.#autopilot.revokeRemoved)
  }

  stop(): void {
    this.#context.stop()
  }

  async close(): Promise<void> {
    this.stop()
    await this.#migration.settled()
    await this.#context.etcd?.close()
  }

  async #enter({ initialCluster, token, rootKey, ...tls }: JoinResponse): Promise<void> {
    const { options, onRemoved } = this.#context
    const { config } = options
    const { nodeId } = config.storage
    const member = { nodeId, peerAddress: peerAddressOf(config), initialCluster, token, isFirst: false }
    const before = this.#membership
    if (before.state !== 'alone') throw invalid('this server has already joined a cluster')
    await EtcdProcess.prepare(options, tls)
    try {
      // The membership is stored first. Once etcd runs, the other members may promote it to a voter and depend on it.
      await this.#keep({ state: 'joined', member })
      const etcd = await EtcdProcess.start(options, member, onRemoved)
      this.#context.etcd = etcd
      void this.#openData(etcd, 'this server has joined a cluster', Buffer.from(rootKey, 'base64'))
    } catch (error) {
      await this.#keep(before).catch(() => undefined)
      throw error
    }
  }

  /**
   * Opens the cluster's data once this member takes part in the consensus. Without `rootKey`, unseals the server by its
   * auto-unseal seal if it has one.
   */
  async #openData(etcd: EtcdProcess, reason: string, rootKey?: Buffer): Promise<void> {
    const { options, server, signal } = this.#context
    const { directory, log } = options
    const { host } = server
    try {
      const sharedLog = await etcd.openLog(signal)
      const move = async () => {
        const copy = await openCopy(directory, log)
        server.becomeNode(sharedLog)
        return copy
      }
      await host.moveData(reason, move, rootKey)
      this.#joinClient.arrived()
      this.#awaited = undefined
      host.admission.wake()
      await removeGenerations(directory)
      if (!rootKey) await host.autoUnseal()
    } catch (error) {
      if (!signal.aborted) log.error('cannot open the data of the cluster', { error })
    }
  }

  async #keep(membership: Membership): Promise<void> {
    await writeMembership(this.#context.options.directory, membership)
    this.#membership = membership
  }

  #onRemoved(): void {
    const { known, etcd, options } = this.#context
    const { directory, log } = options
    if (this.#membership.state !== 'joined') return
    log.error('this node was removed from its cluster and no longer serves requests')
    this.#membership = { state: 'removed', nodeId: this.#membership.member.nodeId }
    known?.beRemoved()
    void etcd?.close()
    // If the write fails, this node learns of its removal again after a restart.
    writeMembership(directory, this.#membership).catch((error: unknown) => {
      log.error('cannot store the removal of this node', { error })
    })
  }

  #requireProgram(): void {
    if (this.#membership.state === 'alone') requireEtcd(this.#context.options.config)
  }
}
