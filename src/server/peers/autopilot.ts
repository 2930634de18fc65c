import type { Timer } from '../../base/clock.js'
import { readAutopilot } from '../../core/system/autopilot-settings.js'
import { Contacts } from './contacts.js'
import { findDeadServer, type WatchedServer } from './dead-servers.js'
import type { OwnEtcd } from './own-etcd.js'
import type { PeersHost, PeersOptions } from './peers-options.js'
import { Revocation } from './revocation.js'
import { findServers } from './servers.js'

interface AutopilotOptions extends PeersOptions {
  readonly host: () => PeersHost | undefined
  readonly etcd: () => OwnEtcd | undefined
  readonly remove: (nodeId: string) => Promise<void>
  /** Called when another node reports that this one was removed. */
  readonly onRemoved: () => void
}

/** Short enough to see each heartbeat of a node. */
const LOOK_MS = 1000

/** Monitors the nodes of the cluster on the active node, and removes dead ones if configured. Keeps removed nodes out. */
export class Autopilot {
  readonly #options: AutopilotOptions
  readonly #contacts: Contacts
  readonly #revocation: Revocation
  readonly #timer: Timer
  #isBusy = false

  constructor(options: AutopilotOptions) {
    this.#options = options
    this.#contacts = new Contacts(options.clock)
    this.#revocation = new Revocation(options)
    this.#timer = options.clock.setRepeating(LOOK_MS, () => void this.#look())
  }

  close(): void {
    this.#timer.cancel()
    this.#revocation.close()
  }

  /** On the active node: deletes the records of nodes without an etcd member, and revokes their certificates. */
  readonly dismissGone = (): Promise<void> => this.#revocation.dismissGone()

  /** Returns the nodes, on the leader; undefined if there are no other nodes. */
  async servers(): Promise<readonly WatchedServer[] | undefined> {
    const { host, etcd, config } = this.#options
    const [server, members, node] = [host(), etcd()?.members, host()?.node]
    if (!server || !members || !node) return undefined
    const { sharedLog } = node
    const leaderId = config.storage.nodeId
    const storage = server.requireRuntime().barrier.view('')
    return findServers(storage, { members, sharedLog, contacts: this.#contacts, leaderId })
  }

  get #isActive(): boolean {
    return this.#options.host()?.node?.isServing === true
  }

  async #look(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    const { log } = this.#options
    try {
      await this.#revocation.look()
      if (this.#isActive) await this.#takeOutDead()
    } catch (error) {
      log.debug('the nodes of the cluster could not be looked at', { error })
    } finally {
      this.#isBusy = false
    }
  }

  async #takeOutDead(): Promise<void> {
    const { host, config, remove, log } = this.#options
    const servers = await this.servers()
    const runtime = host()?.requireRuntime()
    if (!servers || !runtime) return
    const dead = findDeadServer(servers, config.storage.nodeId, readAutopilot(runtime.barrier.view('')))
    if (dead === undefined || !this.#isActive) return
    log.warn('a node is dead, and is taken out of the cluster', { node: dead })
    await remove(dead)
  }
}
