import type { Facilities } from '../../base/facilities.js'
import type { ActiveNode, NodeFacts } from '../../core/status/cluster-status.js'
import { LogicalError } from '../../logical/errors.js'
import { publishCopy } from '../../storage/shared-log/copy.js'
import {
  type LeaderRecord,
  type Leadership,
  LeadershipLost,
  type NodeRecord,
  type SharedLog,
} from '../../storage/shared-log/shared-log.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { NodeMembership } from '../parts/parts.js'
import type { Runtime } from '../runtime/runtime.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'
import { Election } from './election.js'
import { findStep, type NodeEffect, type NodeEvent, type NodeState } from './machine.js'
import { Presence } from './presence.js'
import type { RelayPort } from './relay-service.js'

interface ClusterNodeOptions extends Pick<Facilities, 'clock' | 'log'> {
  readonly sharedLog: SharedLog
  readonly self: Pick<NodeRecord, 'id' | 'hostname' | 'apiAddress' | 'clusterAddress' | 'version'>
  /** Milliseconds for which the node stays out of elections after it has stepped down or failed to become active. */
  readonly restMs: number
  readonly host: Pick<RuntimeHost, 'runtime' | 'reopen'>
  readonly onChange: () => void
  readonly relayPort: RelayPort
}

/** One node of a multi-node cluster. Runs the state machine of `machine.ts`, and executes its effects. */
export class ClusterNode implements NodeMembership {
  readonly #options: ClusterNodeOptions
  readonly #effects: Readonly<Record<NodeEffect, () => void>>
  readonly presence: Presence
  readonly #election: Election
  #state: NodeState = 'sealed'
  #leadership: Leadership | undefined
  #steppingDown: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: ClusterNodeOptions) {
    this.#options = options
    const { id: nodeId, apiAddress, clusterAddress } = options.self
    this.#election = new Election({ ...options, candidate: { nodeId, apiAddress, clusterAddress } })
    this.#effects = {
      campaign: () => void this.#campaign(),
      withdraw: () => this.#election.withdraw(),
      'take-over': () => void this.#takeOver(),
      'step-down': () => this.#beginStepDown({ isDrained: false }),
      'step-down-and-rest': () => {
        this.#election.rest()
        this.#beginStepDown({ isDrained: true })
      },
      resign: () => void this.#resign(),
    }
    this.presence = new Presence({ ...options, onEcho: () => void this.announce() })
  }

  get sharedLog(): SharedLog {
    return this.#options.sharedLog
  }

  get id(): string {
    return this.#options.self.id
  }

  get state(): NodeState {
    return this.#state
  }

  get isServing(): boolean {
    return this.#state === 'active' && this.isLeading
  }

  get isLeading(): boolean {
    return this.leadingTerm !== undefined
  }

  /** The term of this node's leadership; undefined if this node is not the leader. */
  get leadingTerm(): number | undefined {
    return this.#leadership?.isHeld ? this.#leadership.term : undefined
  }

  get isTakingOver(): boolean {
    return this.#state === 'taking-over' || this.#state === 'changing'
  }

  get isStandby(): boolean {
    return !(this.isServing || (this.#state === 'changing' && this.isLeading))
  }

  get activeNode(): ActiveNode | undefined {
    return this.isStandby ? this.otherActive : this.#options.self
  }

  /** The record of another node that is the leader; undefined if there is none, or if this node is the leader. */
  get otherActive(): LeaderRecord | undefined {
    const { sharedLog, self } = this.#options
    return sharedLog.leader?.nodeId === self.id ? undefined : sharedLog.leader
  }

  readonly nodes = (): Promise<readonly NodeFacts[]> => {
    const activeId = this.isStandby ? this.otherActive?.nodeId : this.#options.self.id
    return this.presence.nodes(activeId)
  }

  readonly announce = (): Promise<void> => this.presence.announce(this.#options.host.runtime)

  unsealed(): void {
    this.#on('unsealed')
  }

  async sealed(): Promise<void> {
    this.#on('sealed')
    if (this.#state === 'stepping-down') await this.#steppingDown
  }

  stepDown(): void {
    if (!this.#on('stepped-down')) throw new LogicalError('unavailable', 'this node is not the active node')
  }

  changing(): void {
    this.#on('changing')
  }

  changed(): void {
    const { runtime } = this.#options.host
    if (this.#state === 'changing') this.#followed()
    // The data of the log now uses another root key, which this node does not have.
    else if (this.#state === 'standby' && runtime?.seal.isSealed) this.#on('sealed')
    else this.#options.onChange()
  }

  async publish(fresh: Engine): Promise<void> {
    if (!this.#leadership) throw new LeadershipLost()
    await publishCopy(fresh, this.#leadership)
  }

  async whileLeading<T>(work: () => Promise<T>): Promise<T> {
    if (this.otherActive || !this.#on('initializing'))
      throw new LogicalError(
        'unavailable',
        'another node of the cluster is active, or the cluster is being initialized',
      )
    let leadership: Leadership | undefined
    try {
      leadership = await this.#election.leadSoon()
      await this.#requireRuntime().lead(leadership)
      return await work()
    } finally {
      if (leadership) await this.#follow('the cluster was initialized', leadership, { isDrained: false })
      else this.#on('followed-sealed')
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.presence.end()
    this.#election.withdraw()
    await this.#leadership?.resign().catch(() => undefined)
    await this.#options.sharedLog.close()
  }

  /** Handles an event. Returns false if the event is impossible in the current state. */
  #on(event: NodeEvent): boolean {
    const step = findStep(this.#state, event)
    if (!step) return false
    if (step.to !== this.#state) {
      this.#options.log.info('the node changed its state', { from: this.#state, to: step.to, reason: event })
    }
    this.#state = step.to
    if (step.effect) this.#effects[step.effect]()
    this.#options.onChange()
    void this.announce()
    return true
  }

  async #campaign(): Promise<void> {
    const { log, onChange } = this.#options
    const leadership = await this.#election.stand()
    if (!leadership) return
    this.#leadership = leadership
    leadership.onResumed(() => {
      log.info('this node renewed its lease late, and continues as the leader')
      onChange()
    })
    if (!this.#on('elected')) await this.#resign()
  }

  async #takeOver(): Promise<void> {
    const leadership = this.#leadership
    if (!leadership) return
    const { host, log } = this.#options
    void leadership.lost.then((reason) => this.#lost(leadership, reason))
    const { runtime } = host
    try {
      if (!runtime) throw new LogicalError('unavailable', 'the server is stopping')
      await runtime.lead(leadership)
      await this.#options.relayPort.serve(runtime.barrier.view(''))
      await runtime.openCluster()
      if (host.runtime === runtime) this.#on('opened')
    } catch (error) {
      if (this.#leadership !== leadership || host.runtime !== runtime) return
      log.error('this node cannot become active', { error })
      this.#election.rest()
      this.#on('lost')
    }
  }

  #lost(leadership: Leadership, reason: string): void {
    if (this.#leadership !== leadership || this.#isClosed) return
    this.#options.log.info('this node lost the leadership', { reason })
    this.#on('lost')
  }

  #beginStepDown(options: { readonly isDrained: boolean }): void {
    const leadership = this.#leadership
    if (leadership) this.#steppingDown = this.#follow('this node is no longer the active node', leadership, options)
  }

  async #follow(reason: string, leadership: Leadership, { isDrained }: { isDrained: boolean }): Promise<void> {
    const { host } = this.#options
    await host.reopen(reason, { isDrained, release: () => leadership.resign() })
    this.#leadership = undefined
    this.#followed()
  }

  #followed(): void {
    const { runtime } = this.#options.host
    if (runtime) this.#on(runtime.seal.isSealed ? 'followed-sealed' : 'followed-unsealed')
  }

  async #resign(): Promise<void> {
    const leadership = this.#leadership
    this.#leadership = undefined
    await leadership?.resign()
  }

  #requireRuntime(): Runtime {
    const { runtime } = this.#options.host
    if (!runtime) throw new LogicalError('unavailable', 'the server is stopping')
    return runtime
  }
}
