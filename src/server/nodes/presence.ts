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

/** Announces this node to the others, and tracks which nodes are present. */
export class Presence {
  readonly #options: PresenceOptions
  readonly #echo: Timer
  readonly #others = new Listeners()
  readonly onOthers = this.#others.add
  #otherAddresses: readonly string[] = []
  #told: NodeRecord | undefined
  #telling: Promise<void> | undefined
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

  /** Announces the state of this node, and reads the list of nodes. Never rejects. */
  announce(runtime: Pick<Runtime, 'seal' | 'appliedIndex'> | undefined): Promise<void> {
    const { appliedIndex = 0, seal } = runtime ?? {}
    this.#told = { ...this.#options.self, isSealed: seal?.isSealed ?? true, appliedIndex }
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = undefined
    })
    return this.#telling
  }

  end(): void {
    this.#isOver = true
    this.#echo.cancel()
  }

  /** Sends only the latest announcement: while the log does not respond, no further request is sent. */
  async #tell(): Promise<void> {
    const { sharedLog, log } = this.#options
    for (let told: NodeRecord | undefined; this.#told && told !== this.#told; ) {
      told = this.#told
      try {
        await sharedLog.announce(told)
        await this.#lookAround()
      } catch (error) {
        if (!this.#isOver) log.debug('this node could not announce itself to the other nodes', { error })
      }
    }
  }

  async #lookAround(): Promise<void> {
    const { sharedLog, self } = this.#options
    const others = (await sharedLog.nodes()).filter(({ id, clusterAddress }) => id !== self.id && clusterAddress !== '')
    const addresses = others.map(({ clusterAddress }) => clusterAddress)
    if (String(addresses) === String(this.#otherAddresses)) return
    this.#otherAddresses = addresses
    this.#others.tell()
  }
}
