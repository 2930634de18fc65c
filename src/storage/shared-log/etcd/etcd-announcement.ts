import type { Timer } from '../../../base/clock.js'
import type { AnnouncedNode, NodeRecord } from '../shared-log.js'
import type { EtcdConnection } from './etcd-connection.js'
import type { EtcdWork } from './etcd-forgetting.js'
import { endOf, type EtcdLayout } from './etcd-layout.js'

export const readNodes = async (
  connection: EtcdConnection,
  layout: EtcdLayout,
  signal?: AbortSignal,
): Promise<readonly AnnouncedNode[]> => {
  const start = layout.node('')
  const { kvs } = await connection.ask('Range', { key: start, range_end: endOf(start) }, signal)
  return kvs.map(({ value }) => JSON.parse(value.toString('utf8')) as AnnouncedNode)
}

type AnnouncementParts = Pick<EtcdWork, 'connection' | 'layout' | 'clock'> & { readonly leaseMs: number }

/** Publishes the record of this node to the other nodes. A lease removes the record if this node fails. */
export class EtcdAnnouncement {
  readonly #parts: AnnouncementParts
  #node: AnnouncedNode | undefined
  #lease: string | undefined
  #renewal: Timer | undefined
  #isRenewing = false

  constructor(parts: AnnouncementParts) {
    this.#parts = parts
  }

  async announce(record: NodeRecord): Promise<void> {
    this.#node = { ...record, lastEchoMs: this.#parts.clock.now() }
    await this.#put()
    this.#renewal ??= this.#parts.clock.setRepeating(this.#parts.leaseMs / 3, () => void this.#renew())
  }

  nodes(): Promise<readonly AnnouncedNode[]> {
    return readNodes(this.#parts.connection, this.#parts.layout)
  }

  /** Withdraws the announcement. If this fails, the lease expires, because it is no longer renewed. */
  async end(signal: AbortSignal): Promise<void> {
    this.#renewal?.cancel()
    const lease = this.#lease
    this.#lease = undefined
    if (lease === undefined) return
    await this.#parts.connection.ask('LeaseRevoke', { ID: lease }, signal).catch(() => undefined)
  }

  async #put(): Promise<void> {
    const node = this.#node
    if (!node) return
    const { connection, layout, leaseMs } = this.#parts
    this.#lease ??= (await connection.ask('LeaseGrant', { TTL: Math.ceil(leaseMs / 1000) })).ID
    const put = { key: layout.node(node.id), value: Buffer.from(JSON.stringify(node)), lease: this.#lease }
    await connection.ask('Txn', { compare: [], success: [{ request_put: put }] }).catch((error: unknown) => {
      // If the lease has expired, the next attempt needs a new one.
      this.#lease = undefined
      throw error
    })
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing) return
    this.#isRenewing = true
    try {
      const { connection, leaseMs } = this.#parts
      const seconds = this.#lease === undefined ? 0 : await connection.keepAlive(this.#lease, leaseMs / 3)
      if (seconds <= 0) {
        this.#lease = undefined
        await this.#put()
      }
    } catch {
      // The next renewal retries.
    } finally {
      this.#isRenewing = false
    }
  }
}
