import type { SealJoin } from '../../core/seal/seal-join.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { removeGenerations } from '../../storage/engine/generation-record.js'
import type { RaftServer } from '../../core/system/raft-join-paths.js'
import { openCopy } from '../data/shared-storage.js'
import { Autopilot } from './autopilot.js'
import { GoingOver } from './going-over.js'
import { Joiner } from './joiner.js'
import { hasCluster, JoinRefused, type LeaderAddress, leaderOf } from './leader-api.js'
import { type Membership, readMembership, writeMembership } from './membership.js'
import { OwnEtcd } from './own-etcd.js'
import { peerAddressOf } from './peer-address.js'
import type { PeersHost, PeersOptions } from './peers-options.js'
import type { Welcome } from './proof.js'
import type { PeerRecord } from './roster.js'
import { removeNode } from './removal.js'
import { aloneServer } from './servers.js'
import { Tending } from './tending.js'
import { requireEtcd, requireWelcoming, Welcomer } from './welcomer.js'

const AWAITED: SealJoin = { config: { shares: 0, threshold: 0 }, shares: 'too-early', open: async () => false }

/** Manages the other nodes of a server with storage label `raft`: joins, and this server's etcd member. */
export class Peers {
  readonly #options: PeersOptions & Pick<Autopilot, 'dismissGone'>
  readonly #stop = new AbortController()
  readonly #joiner: Joiner
  readonly #welcomer: Welcomer
  readonly #goingOver: GoingOver
  readonly #tending: Tending
  readonly #autopilot: Autopilot
  #membership: Membership
  #etcd: OwnEtcd | undefined
  #host: PeersHost | undefined
  /** This server's own cluster, while too few other nodes are present to read its data. */
  #awaited: SealJoin | undefined

  private constructor(options: PeersOptions, membership: Membership) {
    this.#membership = membership
    const host = () => this.#requireHost()
    const { signal } = this.#stop
    this.#autopilot = new Autopilot({
      ...options,
      host: () => this.#host,
      etcd: () => this.#etcd,
      remove: (nodeId) => this.remove(nodeId),
      onRemoved: () => this.#removed(),
    })
    this.#options = { ...options, dismissGone: this.#autopilot.dismissGone }
    this.#joiner = new Joiner({ ...options, host, signal, enter: (welcome) => this.#enter(welcome) })
    this.#welcomer = new Welcomer({ ...this.#options, runtime: () => host().requireRuntime() })
    this.#goingOver = new GoingOver({
      ...options,
      host,
      signal,
      certify: (address) => this.#welcomer.certify(address),
      decide: async (member, etcd) => {
        await this.#keep({ state: 'joined', member })
        this.#etcd = etcd
      },
      undo: () => this.#keep(this.#membership),
      onRemoved: () => this.#removed(),
    })
    this.#tending = new Tending({
      ...options,
      members: () => (this.#host?.node?.isServing ? this.#etcd?.members : undefined),
    })
  }

  static async open(options: PeersOptions): Promise<Peers> {
    return new Peers(options, await readMembership(options.directory))
  }

  get membership(): Membership {
    return this.#membership
  }

  /** The cluster whose shares unseal this server, before it has the cluster's data. */
  get sealJoin(): SealJoin | undefined {
    return this.#joiner.pending ?? this.#awaited
  }

  serve(host: PeersHost): void {
    this.#host = host
    if (this.#membership.state === 'removed') host.beRemoved()
  }

  /** Follows the other nodes once they are reachable. Without a cluster, tries to join the configured nodes. */
  begin(): void {
    if (this.#etcd) void this.#follow(this.#etcd, 'enough other nodes are there')
    else this.#joinConfigured()
  }

  #joinConfigured(): void {
    const { retryJoin = [] } = this.#options.config.storage
    if (this.#membership.state !== 'alone' || retryJoin.length === 0) return
    this.#joiner.keepJoining(retryJoin.map((one) => () => leaderOf(one)))
  }

  /** Starts this server's etcd member. Its data is available once a majority of the members is running. */
  async startNode(): Promise<void> {
    const { directory, log } = this.#options
    if (this.#membership.state !== 'joined') throw new Error('there are no other nodes')
    await removeGenerations(directory)
    this.#etcd = await OwnEtcd.start(this.#options, this.#membership.member, () => this.#removed())
    this.#awaited = AWAITED
    log.info('the etcd of this node is started; the other members are waited for')
  }

  /** True while a node has not reached a majority of the others. */
  get isAwaitingOthers(): boolean {
    return this.#awaited !== undefined
  }

  /** Joins the leader's cluster. Returns false if it retries in the background. Rejects with LogicalError 500 with the cause. */
  async join(leader: LeaderAddress, { isRetried }: { readonly isRetried: boolean }): Promise<boolean> {
    const { config } = this.#options
    if (this.#membership.state === 'joined' || leader.address === config.apiAddress) return true
    if (this.#requireHost().requireRuntime().seal.keys.config) throw hasCluster()
    try {
      await this.#joiner.join(leader)
      return true
    } catch (error) {
      if (!isRetried || error instanceof JoinRefused) {
        throw new LogicalError('internal', error instanceof Error ? error.message : String(error), { cause: error })
      }
      this.#joiner.keepJoining([() => leader])
      return false
    }
  }

  challenge(serverId: string) {
    this.#requireProgram()
    return this.#welcomer.challenge(serverId)
  }

  /** Returns the data for a joining server if its answer is right. Throws LogicalError 503 while migrating to multiple nodes. */
  async answer(peer: PeerRecord, answer: string): Promise<string> {
    this.#requireProgram()
    requireWelcoming(this.#requireHost().requireRuntime())
    const secret = this.#welcomer.requireProof(peer, answer)
    await this.#welcomer.requireNew(peer, this.#etcd)
    if (this.#membership.state !== 'joined' || !this.#etcd) {
      this.#goingOver.begin()
      throw this.#goingOver.refusal
    }
    const welcome = await this.#welcomer.admit(peer, secret, this.#etcd, this.#membership.member.token)
    this.#options.log.info('a server joins the cluster', { node: peer.nodeId, address: peer.peerAddress })
    this.#tending.begin()
    return welcome
  }

  /** Returns the nodes of the cluster, as known to the active node. */
  async servers(): Promise<readonly RaftServer[]> {
    const { store, cluster } = this.#requireHost().requireRuntime()
    const alone = { lastIndex: store.position.index, stableSinceMs: cluster?.openedAtMs }
    return (await this.#autopilot.servers()) ?? [aloneServer(this.#options.config, alone)]
  }

  /** Removes a node permanently. Does nothing for an unknown node. */
  async remove(nodeId: string): Promise<void> {
    const servers = await this.servers()
    if (!servers.some((server) => server.nodeId === nodeId)) return
    const { node } = this.#requireHost()
    if (!this.#etcd || !node || servers.length === 1) throw invalid('the only node of a cluster cannot be removed')
    const storage = this.#requireHost().requireRuntime().barrier.view('')
    await removeNode(nodeId, { ...this.#options, node, storage, members: this.#etcd.members, servers })
  }

  /** Cancels all waiting. */
  stop(): void {
    this.#stop.abort(new LogicalError('unavailable', 'the server is stopping'))
  }

  async close(): Promise<void> {
    this.stop()
    this.#tending.close()
    this.#autopilot.close()
    await this.#goingOver.settled()
    await this.#etcd?.close()
  }

  async #enter({ initialCluster, token, rootKey, ...tls }: Welcome): Promise<void> {
    const { config } = this.#options
    const { nodeId } = config.storage
    const member = { nodeId, peerAddress: peerAddressOf(config), initialCluster, token, isFirst: false }
    const before = this.#membership
    if (before.state !== 'alone') throw invalid('this server has joined a cluster already')
    await OwnEtcd.prepare(this.#options, tls)
    try {
      // Once its etcd runs, the others may promote it to a voter and depend on it.
      await this.#keep({ state: 'joined', member })
      this.#etcd = await OwnEtcd.start(this.#options, member, () => this.#removed())
    } catch (error) {
      await this.#keep(before).catch(() => undefined)
      throw error
    }
    void this.#follow(this.#etcd, 'this server has joined a cluster', Buffer.from(rootKey, 'base64'))
  }

  /** Follows the log once this member is in the consensus. Without a key, the server is then sealed or unsealed by its seal. */
  async #follow(etcd: OwnEtcd, reason: string, rootKey?: Buffer): Promise<void> {
    const { directory, log } = this.#options
    const host = this.#requireHost()
    try {
      const sharedLog = await etcd.openLog(this.#stop.signal)
      const move = async () => {
        const copy = await openCopy(directory, log)
        host.becomeNode(sharedLog)
        return copy
      }
      await host.moveData(reason, move, rootKey)
      this.#joiner.arrived()
      this.#awaited = undefined
      host.wake()
      await removeGenerations(directory)
      if (!rootKey) await host.autoUnseal()
    } catch (error) {
      if (!this.#stop.signal.aborted) log.error('the data of the cluster could not be opened here', { error })
    }
  }

  async #keep(membership: Membership): Promise<void> {
    await writeMembership(this.#options.directory, membership)
    this.#membership = membership
  }

  #removed(): void {
    const { directory, log } = this.#options
    if (this.#membership.state !== 'joined') return
    log.error('this node was removed from its cluster and serves nothing any more')
    this.#membership = { state: 'removed', nodeId: this.#membership.member.nodeId }
    this.#host?.beRemoved()
    void this.#etcd?.close()
    // If the write fails, the others will report the removal again.
    writeMembership(directory, this.#membership).catch((error: unknown) => {
      log.error('that this node was removed could not be written', { error })
    })
  }

  #requireProgram(): void {
    if (this.#membership.state === 'alone') requireEtcd(this.#options.config)
  }

  #requireHost(): PeersHost {
    if (!this.#host) throw new LogicalError('unavailable', 'the server is starting')
    return this.#host
  }
}
