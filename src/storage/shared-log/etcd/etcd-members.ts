import { limitSignal } from '../../../base/linked-signal.js'
import type { AnnouncedNode } from '../shared-log.js'
import { readNodes } from './etcd-announcement.js'
import type { Member } from './etcd-api.js'
import { EtcdConnection, type EtcdConnectionOptions } from './etcd-connection.js'
import { EtcdLayout } from './etcd-layout.js'

/** Timeout of a request that lists or changes members, in milliseconds. */
const TIMEOUT_MS = 10_000
/** Timeout of a read that needs a quorum, in milliseconds. */
const QUORUM_MS = 3000

/** Lists, adds and removes the members of an etcd cluster. Rejects with etcd's error. */
export class EtcdMembers {
  readonly #connection: EtcdConnection
  readonly #clock: EtcdConnectionOptions['clock']

  constructor(options: EtcdConnectionOptions) {
    this.#connection = new EtcdConnection(options)
    this.#clock = options.clock
  }

  /** Resolves to the members that the contacted member knows. */
  async list(): Promise<readonly Member[]> {
    return (await this.#inTime((signal) => this.#connection.ask('MemberList', {}, signal))).members
  }

  /** Adds a learner, which has no vote until it is promoted. Resolves to the existing learner with this URL, if any. */
  async addLearner(peerUrl: string): Promise<Member> {
    const known = async () => (await this.list()).find(({ peerURLs }) => peerURLs.includes(peerUrl))
    try {
      const request = { peerURLs: [peerUrl], isLearner: true }
      return (await this.#inTime((signal) => this.#connection.ask('MemberAdd', request, signal))).member
    } catch (error) {
      // The learner may exist already, for example after a retry.
      const member = await known()
      if (!member?.isLearner) throw error
      return member
    }
  }

  /** Promotes a learner to a voting member. Rejects until the learner has caught up. */
  async promote(id: string): Promise<void> {
    await this.#inTime((signal) => this.#connection.ask('MemberPromote', { ID: id }, signal))
  }

  async remove(id: string): Promise<void> {
    await this.#inTime((signal) => this.#connection.ask('MemberRemove', { ID: id }, signal))
  }

  /** Resolves to the announced nodes of the cluster with this prefix, or to undefined if there is no quorum. */
  async findNodes(prefix: string): Promise<readonly AnnouncedNode[] | undefined> {
    const layout = new EtcdLayout(prefix)
    return this.#inTime((signal) => readNodes(this.#connection, layout, signal), QUORUM_MS).catch(() => undefined)
  }

  close(): void {
    this.#connection.close()
  }

  async #inTime<T>(ask: (signal: AbortSignal) => Promise<T>, timeoutMs = TIMEOUT_MS): Promise<T> {
    using limit = limitSignal(this.#clock, timeoutMs, undefined, 'etcd did not respond in time')
    return await ask(limit.signal)
  }
}
