import { PeriodicWork } from '../../base/periodic-work.js'
import { readAutopilot } from '../../core/system/autopilot-settings.js'
import { Contacts, findDeadServer, type WatchedServer } from './contacts.js'
import type { PeersContext } from './peers-context.js'
import { Revocation } from './revocation.js'
import { findServers } from './servers.js'
import type { EtcdMembers } from '../../storage/shared-log/etcd/etcd-members.js'

/** Short enough to see each heartbeat of a node. */
const LOOK_MS = 1000

/** Monitors the nodes of the cluster on the active node, and removes dead ones if configured. Keeps removed nodes out. */
export class Autopilot {
  readonly #context: PeersContext
  readonly #remove: (nodeId: string) => Promise<void>
  readonly #contacts: Contacts
  readonly #revocation: Revocation

  constructor(context: PeersContext, remove: (nodeId: string) => Promise<void>) {
    const { clock } = context.options
    this.#context = context
    this.#remove = remove
    this.#contacts = new Contacts(clock)
    this.#revocation = new Revocation(context)
    new PeriodicWork(() => this.#look()).start(clock, LOOK_MS, context.signal)
  }

  /** On the active node: deletes the records of nodes without an etcd member, and revokes their certificates. */
  readonly dismissGone = (): Promise<void> => this.#revocation.dismissGone()

  /** Returns the nodes, on the leader; undefined if there are no other nodes. */
  async servers(): Promise<readonly WatchedServer[] | undefined> {
    const { etcd, node, options, storage } = this.#context
    if (!etcd || !node) return undefined
    const leaderId = options.config.storage.nodeId
    return findServers(storage, {
      members: etcd.members,
      sharedLog: node.sharedLog,
      contacts: this.#contacts,
      leaderId,
    })
  }

  async #look(): Promise<void> {
    try {
      await this.#revocation.look()
      if (this.#context.isActive) await this.#takeOutDead()
    } catch (error) {
      this.#context.options.log.debug('the nodes of the cluster could not be looked at', { error })
    }
  }

  async #takeOutDead(): Promise<void> {
    const { config, log } = this.#context.options
    const servers = await this.servers()
    if (!servers) return
    const dead = findDeadServer(servers, config.storage.nodeId, readAutopilot(this.#context.storage))
    if (dead === undefined || !this.#context.isActive) return
    log.warn('a node is dead, and is taken out of the cluster', { node: dead })
    await this.#remove(dead)
  }
}

const PROMOTION_LOOK_MS = 500

/** Promotes new members to voters once they have caught up. A member without a vote cannot block the consensus. */
export class ClusterMaintenance {
  readonly #context: PeersContext
  #wasActive = false
  #mayHaveLearners = false

  constructor(context: PeersContext) {
    this.#context = context
    new PeriodicWork(() => this.#look()).start(context.options.clock, PROMOTION_LOOK_MS, context.signal)
  }

  /** Starts promoting. Call it when a new member was added. */
  begin(): void {
    this.#mayHaveLearners = true
  }

  async #look(): Promise<void> {
    const { isActive, etcd, options } = this.#context
    const members = isActive ? etcd?.members : undefined
    // The previous active node may have left members without a vote.
    if (members && !this.#wasActive) this.#mayHaveLearners = true
    this.#wasActive = members !== undefined
    if (!members || !this.#mayHaveLearners) return
    try {
      this.#mayHaveLearners = !(await this.#promoteAll(members))
    } catch (error) {
      options.log.debug('the members of the etcd of the nodes could not be looked at', { error })
    }
  }

  /** Returns true if all members are voters. */
  async #promoteAll(members: EtcdMembers): Promise<boolean> {
    const learners = (await members.list()).filter(({ isLearner }) => isLearner)
    for (const { ID, name } of learners) {
      if (name === '') continue
      const isCaughtUp = await members.promote(ID).then(
        () => true,
        () => false,
      )
      if (isCaughtUp) this.#context.options.log.info('a new node has caught up and has a vote', { member: ID })
    }
    return learners.length === 0
  }
}
