import type { Clock, Timer } from '../../../base/clock.js'
import type { AnnouncedNode, NodeRecord } from '../shared-log.js'
import type { EtcdConnection } from './etcd-connection.js'
import { endOf, type EtcdLayout } from './etcd-layout.js'

/** Returns what the nodes announced. */
export const readNodes = async (
  connection: EtcdConnection,
  layout: EtcdLayout,
  signal?: AbortSignal,
): Promise<readonly AnnouncedNode[]> => {
  const start = layout.node('')
  const { kvs } = await connection.ask('Range', { key: start, range_end: endOf(start) }, signal)
  return kvs.map(({ value }) => JSON.parse(value.toString('utf8')) as AnnouncedNode)
}

/** What a node shows of itself to the others, for as long as it lives. */
export class EtcdAnnouncement {
  readonly #connection: EtcdConnection
  readonly #layout: EtcdLayout
  readonly #clock: Clock
  readonly #leaseMs: number
  #node: AnnouncedNode | undefined
  #lease: string | undefined
  #renewal: Timer | undefined
  #isRenewing = false

  constructor(connection: EtcdConnection, layout: EtcdLayout, clock: Clock, leaseMs: number) {
    this.#connection = connection
    this.#layout = layout
    this.#clock = clock
    this.#leaseMs = leaseMs
  }

  async announce(record: NodeRecord): Promise<void> {
    this.#node = { ...record, lastEchoMs: this.#clock.now() }
    await this.#put()
    this.#renewal ??= this.#clock.setRepeating(this.#leaseMs / 3, () => void this.#renew())
  }

  nodes(): Promise<readonly AnnouncedNode[]> {
    return readNodes(this.#connection, this.#layout)
  }

  /** Resolves when the others know that it is gone, or will find out. */
  async end(signal: AbortSignal): Promise<void> {
    this.#renewal?.cancel()
    const lease = this.#lease
    this.#lease = undefined
    if (lease !== undefined) await this.#connection.ask('LeaseRevoke', { ID: lease }, signal).catch(() => undefined)
  }

  async #put(): Promise<void> {
    const node = this.#node
    if (!node) return
    this.#lease ??= (await this.#connection.ask('LeaseGrant', { TTL: Math.ceil(this.#leaseMs / 1000) })).ID
    const put = { key: this.#layout.node(node.id), value: Buffer.from(JSON.stringify(node)), lease: this.#lease }
    await this.#connection.ask('Txn', { compare: [], success: [{ request_put: put }] }).catch((error: unknown) => {
      // A lease that has ended is not to be had again.
      this.#lease = undefined
      throw error
    })
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing) return
    this.#isRenewing = true
    try {
      const seconds = this.#lease === undefined ? 0 : await this.#connection.keepAlive(this.#lease, this.#leaseMs / 3)
      if (seconds <= 0) {
        this.#lease = undefined
        await this.#put()
      }
    } catch {
      // Asked again with the next third.
    } finally {
      this.#isRenewing = false
    }
  }
}
