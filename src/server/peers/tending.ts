import type { Facilities } from '../../base/facilities.js'
import type { Timer } from '../../base/clock.js'
import type { EtcdMembers } from '../../storage/commit-log/etcd/etcd-members.js'

interface TendingOptions extends Pick<Facilities, 'clock' | 'log'> {
  /** Returns the members; undefined if this node is not active. */
  readonly members: () => EtcdMembers | undefined
}

const LOOK_MS = 500

/** Promotes new members to voters once they have caught up. A member without a vote cannot block the consensus. */
export class Tending {
  readonly #options: TendingOptions
  readonly #timer: Timer
  #wasActive = false
  #mayHaveLearners = false
  #isBusy = false

  constructor(options: TendingOptions) {
    this.#options = options
    this.#timer = options.clock.setRepeating(LOOK_MS, () => void this.#look())
  }

  /** Starts promoting. Call it when a new member was added. */
  begin(): void {
    this.#mayHaveLearners = true
  }

  close(): void {
    this.#timer.cancel()
  }

  async #look(): Promise<void> {
    const members = this.#options.members()
    // The previous active node may have left members without a vote.
    if (members && !this.#wasActive) this.#mayHaveLearners = true
    this.#wasActive = members !== undefined
    if (!members || !this.#mayHaveLearners || this.#isBusy) return
    this.#isBusy = true
    try {
      this.#mayHaveLearners = !(await this.#promoteAll(members))
    } catch (error) {
      this.#options.log.debug('the members of the etcd of the nodes could not be looked at', { error })
    } finally {
      this.#isBusy = false
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
      if (isCaughtUp) this.#options.log.info('a new node has caught up and has a vote', { member: ID })
    }
    return learners.length === 0
  }
}
