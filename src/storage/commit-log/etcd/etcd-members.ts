import type { AnnouncedNode } from '../shared-log.js'
import { readNodes } from './etcd-announcement.js'
import type { Member } from './etcd-api.js'
import { EtcdConnection, type EtcdConnectionOptions } from './etcd-connection.js'
import { EtcdLayout } from './etcd-layout.js'

/** What it costs a change of members that one of them does not answer. */
const PATIENCE_MS = 10_000
/** A read that needs the other members takes no longer. */
const QUORUM_MS = 3000

/** The processes that are an etcd together: who they are, and how one comes or goes. Rejects with what etcd refuses. */
export class EtcdMembers {
  readonly #connection: EtcdConnection
  readonly #clock: EtcdConnectionOptions['clock']

  constructor(options: EtcdConnectionOptions) {
    this.#connection = new EtcdConnection(options)
    this.#clock = options.clock
  }

  /** As the member that is asked knows them. */
  async list(): Promise<readonly Member[]> {
    return (await this.#inTime((signal) => this.#connection.ask('MemberList', {}, signal))).members
  }

  /** Another one, that has no vote until it is promoted; the same where it is one already. */
  async addLearner(peerUrl: string): Promise<Member> {
    const known = async () => (await this.list()).find(({ peerURLs }) => peerURLs.includes(peerUrl))
    try {
      const request = { peerURLs: [peerUrl], isLearner: true }
      return (await this.#inTime((signal) => this.#connection.ask('MemberAdd', request, signal))).member
    } catch (error) {
      // It was asked for twice, since the first answer was lost.
      const member = await known()
      if (!member?.isLearner) throw error
      return member
    }
  }

  /** Gives it a vote. Rejects while it has not caught up. */
  async promote(id: string): Promise<void> {
    await this.#inTime((signal) => this.#connection.ask('MemberPromote', { ID: id }, signal))
  }

  async remove(id: string): Promise<void> {
    await this.#inTime((signal) => this.#connection.ask('MemberRemove', { ID: id }, signal))
  }

  /** What the nodes announced below this prefix; undefined if this member does not reach enough of the others to know. */
  async findNodes(prefix: string): Promise<readonly AnnouncedNode[] | undefined> {
    const layout = new EtcdLayout(prefix)
    return this.#inTime((signal) => readNodes(this.#connection, layout, signal), QUORUM_MS).catch(() => undefined)
  }

  close(): void {
    this.#connection.close()
  }

  async #inTime<T>(ask: (signal: AbortSignal) => Promise<T>, timeoutMs = PATIENCE_MS): Promise<T> {
    const late = new AbortController()
    const timer = this.#clock.setTimer(timeoutMs, () => late.abort(new Error('etcd has not answered in time')))
    try {
      return await ask(late.signal)
    } finally {
      timer.cancel()
    }
  }
}
