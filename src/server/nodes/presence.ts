import type { Facilities } from '../../base/facilities.js'
import type { Timer } from '../../base/clock.js'
import { Listeners } from '../../base/listeners.js'
import type { NodeFacts } from '../../core/status/cluster-status.js'
import type { NodeRecord, SharedLog } from '../../storage/shared-log/shared-log.js'
import type { Runtime } from '../runtime/runtime.js'

interface PresenceOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly sharedLog: SharedLog
  readonly self: Pick<NodeRecord, 'id' | 'hostname' | 'apiAddress' | 'clusterAddress' | 'version'>
  readonly onEcho: () => void
}

const ECHO_MS = 5000

/** Announces this node to the other nodes, and tracks their addresses. */
export class Presence {
  readonly #options: PresenceOptions
  readonly #echo: Timer
  readonly #others = new Listeners()
  readonly onOthers = this.#others.add
  #otherAddresses: readonly string[] = []
  #latest: NodeRecord | undefined
  #sending: Promise<void> | undefined
  #isOver = false

  constructor(options: PresenceOptions) {
    this.#options = options
    this.#echo = options.clock.setRepeating(ECHO_MS, options.onEcho)
  }

  get otherAddresses(): readonly string[] {
    return this.#otherAddresses
  }

  async nodes(activeId: string | undefined): Promise<readonly NodeFacts[]> {
    const all = await this.#options.sharedLog.nodes()
    return all.map(({ id, hostname, apiAddress, clusterAddress, version, lastEchoMs }) => {
      const isActive = id === activeId
      return { hostname, apiAddress, clusterAddress, version, isActive, lastEchoMs: isActive ? undefined : lastEchoMs }
    })
  }

  /** Announces the state of this node, and refreshes the list of nodes. Never rejects. */
  announce(runtime: Pick<Runtime, 'seal' | 'appliedIndex'> | undefined): Promise<void> {
    const { appliedIndex = 0, seal } = runtime ?? {}
    this.#latest = { ...this.#options.self, isSealed: seal?.isSealed ?? true, appliedIndex }
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  end(): void {
    this.#isOver = true
    this.#echo.cancel()
  }

  /** Sends announcements one at a time. While the shared log does not respond, only the latest announcement waits. */
  async #send(): Promise<void> {
    const { sharedLog, log } = this.#options
    for (let sent: NodeRecord | undefined; this.#latest && sent !== this.#latest; ) {
      sent = this.#latest
      try {
        await sharedLog.announce(sent)
        await this.#refreshOthers()
      } catch (error) {
        if (!this.#isOver) log.debug('cannot announce this node to the other nodes', { error })
      }
    }
  }

  async #refreshOthers(): Promise<void> {
    const { sharedLog, self } = this.#options
    const others = (await sharedLog.nodes()).filter(({ id, clusterAddress }) => id !== self.id && clusterAddress !== '')
    const addresses = others.map(({ clusterAddress }) => clusterAddress)
    if (String(addresses) === String(this.#otherAddresses)) return
    this.#otherAddresses = addresses
    this.#others.emit()
  }
}
