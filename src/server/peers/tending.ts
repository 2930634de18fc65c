import { PeriodicWork } from '../../base/periodic-work.js'
import type { EtcdMembers } from '../../storage/commit-log/etcd/etcd-members.js'
import type { PeersContext } from './peers-context.js'

const LOOK_MS = 500

/** Promotes new members to voters once they have caught up. A member without a vote cannot block the consensus. */
export class Tending {
  readonly #context: PeersContext
  #wasActive = false
  #mayHaveLearners = false

  constructor(context: PeersContext) {
    this.#context = context
    new PeriodicWork(() => this.#look()).start(context.options.clock, LOOK_MS, context.signal)
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
