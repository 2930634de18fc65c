import { limitSignal } from '../../../base/linked-signal.js'
import type { AnnouncedNode } from '../shared-log.js'
import { readNodes } from './etcd-announcement.js'
import type { Member } from './etcd-api.js'
import { EtcdConnection, type EtcdConnectionOptions } from './etcd-connection.js'
import { EtcdLayout } from './etcd-layout.js'

/** Timeout of a request for the members or of a change of members. */
const PATIENCE_MS = 10_000
/** Timeout of a read that needs a quorum. */
const QUORUM_MS = 3000

/** Lists, adds and removes the members of an etcd cluster. Rejects with etcd's error. */
export class EtcdMembers {
  readonly #connection: EtcdConnection
  readonly #clock: EtcdConnectionOptions['clock']

  constructor(options: EtcdConnectionOptions) {
    this.#connection = new EtcdConnection(options)
    this.#clock = options.clock
  }

  /** Returns the members as the contacted member knows them. */
  async list(): Promise<readonly Member[]> {
    return (await this.#inTime((signal) => this.#connection.ask('MemberList', {}, signal))).members
  }

  /** Adds a learner, which has no vote until it is promoted. Returns the existing member if it is already one. */
  async addLearner(peerUrl: string): Promise<Member> {
    const known = async () => (await this.list()).find(({ peerURLs }) => peerURLs.includes(peerUrl))
    try {
      const request = { peerURLs: [peerUrl], isLearner: true }
      return (await this.#inTime((signal) => this.#connection.ask('MemberAdd', request, signal))).member
    } catch (error) {
      // The learner may exist already, if this is a retry after a lost response.
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

  /** Returns the records that the nodes announced below this prefix; undefined if this member cannot reach a quorum. */
  async findNodes(prefix: string): Promise<readonly AnnouncedNode[] | undefined> {
    const layout = new EtcdLayout(prefix)
    return this.#inTime((signal) => readNodes(this.#connection, layout, signal), QUORUM_MS).catch(() => undefined)
  }

  close(): void {
    this.#connection.close()
  }

  async #inTime<T>(ask: (signal: AbortSignal) => Promise<T>, timeoutMs = PATIENCE_MS): Promise<T> {
    using limit = limitSignal(this.#clock, timeoutMs, undefined, 'etcd did not respond in time')
    return await ask(limit.signal)
  }
}
