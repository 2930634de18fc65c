import type { Facilities } from '../../base/facilities.js'
import { AutoUnsealing } from '../../core/seal/auto-unsealing.js'
import { LogicalError, RESTARTING_REFUSAL, STOPPING_REFUSAL } from '../../logical/errors.js'
import type { BodyAllowance, BodySender } from '../../logical/incoming.js'
import type { FreshStart } from '../../replication/host/host.js'
import type { AutoSeal } from '../../seal/auto-seal.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { dataKey } from '../../storage/keys/raw-keys.js'
import { Admission, type InFlightRequests } from './admission.js'
import { openAgain, replaceForAll } from './open-again.js'
import { allowanceIn, removedStateOf, RestartView, type ServerState, serverStateOf } from './server-state.js'
import { Runtime } from './runtime.js'
import type { ServerStatus } from './server-status.js'
import type { NewData, NodeMembership, RuntimeChanges, ShellView, StepDownOptions } from '../parts/parts.js'
import type { ServerConfig } from '../config/config.js'
import { createAutoSeal } from '../wiring/seal-parts.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface RuntimeHostOptions extends Facilities {
  readonly config: ServerConfig
  readonly status: ServerStatus
  readonly shell: ShellView
  readonly inFlight: Pick<InFlightRequests, 'settle'>
  readonly watch: (source: EngineSource) => EngineSource
}

/**
 * Holds the data of a server and its runtime. Every role change replaces the runtime. Changes run one at a time. During
 * a change, a restart view responds to requests. The root key stays in memory during a change unless the cluster was
 * sealed before.
 */
export class RuntimeHost implements RuntimeChanges {
  readonly #options: RuntimeHostOptions
  readonly #stop = new AbortController()
  membership: NodeMembership | undefined
  #source: EngineSource | undefined
  #runtime: Runtime | undefined
  #restartView: RestartView | undefined
  readonly admission: Admission
  readonly #unsealing: AutoUnsealing
  #autoSeal: AutoSeal | undefined
  #changing: Promise<void> = Promise.resolve()

  constructor(options: RuntimeHostOptions) {
    this.#options = options
    const { clock, inFlight, config, shell } = options
    this.admission = new Admission({
      shell,
      inFlight,
      clock,
      waitMs: config.own.roleChangeWaitMs,
      isRestarting: () => this.#restartView !== undefined || this.membership?.isTakingOver === true,
    })
    this.#unsealing = new AutoUnsealing({ ...options, seal: () => this.#runtime?.seal, signal: this.#stop.signal })
  }

  /** Uses this data. `closeData` closes it. */
  adopt(source: EngineSource): void {
    this.#source = this.#options.watch(source)
  }

  async open(): Promise<Runtime> {
    const runtime = await this.#openRuntime()
    this.#show(runtime)
    return runtime
  }

  /** The current runtime; undefined while it is being replaced, during startup and during shutdown. */
  get runtime(): Runtime | undefined {
    return this.#runtime
  }

  get storageGeneration(): number {
    return this.#source?.generation ?? 0
  }

  /**
   * True while the files may still contain data that a filter removed. The mark is read directly from the engine, which
   * is also available while the runtime is replaced.
   */
  get isPurgePending(): boolean {
    const hasMark = this.#source?.engine.get(dataKey(KEYS.purgeMark)) !== undefined
    return hasMark || this.#runtime?.cluster?.replication.isPurgePending === true
  }

  pauseWrites(): Promise<void> {
    return this.admission.pauseWrites(SETTLE_MS)
  }

  resumeWrites(): void {
    this.admission.resumeWrites()
  }

  get state(): ServerState {
    if (this.#options.status.isRemoved) return removedStateOf(this.#runtime, this.#restartView?.backend)
    return serverStateOf(this.#runtime, this.#restartView?.backend, this.membership)
  }

  /**
   * Returns the limits of an unread body. Waits while the runtime is replaced, since the client's token cannot be
   * checked then.
   */
  async allowBody(sender: BodySender, gone: AbortSignal): Promise<BodyAllowance> {
    await this.admission.admitBody(sender, gone)
    return allowanceIn(this.state, sender)
  }

  /** Returns the runtime. Throws LogicalError 503 if there is none. */
  requireRuntime(): Runtime {
    if (this.#runtime) return this.#runtime
    throw new LogicalError('unavailable', this.#restartView ? RESTARTING_REFUSAL : STOPPING_REFUSAL)
  }

  restart(reason: string): void {
    // The response that announces the restart completes on the old runtime.
    void this.reopen(reason, { isDrained: true, release: async () => undefined })
  }

  /**
   * Closes the runtime, calls `release` and opens a new runtime. Resolves when the new runtime is in use. If
   * `isDrained` is true, requests in progress complete first.
   */
  async reopen(reason: string, { isDrained, release }: StepDownOptions): Promise<void> {
    this.#change(reason, async () => {
      if (isDrained) await this.#options.inFlight.settle(SETTLE_MS)
      await this.#rebuild(release)
    })
    await this.#changing
  }

  async replaceData(reason: string, next: NewData): Promise<void> {
    if (this.#isClosing) throw new LogicalError('unavailable', STOPPING_REFUSAL)
    if (this.#restartView) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
    const source = this.#requireSource()
    return new Promise<void>((resolve, reject) => {
      this.#change(reason, async () => {
        const before = this.#rootKey
        try {
          await this.#closeRuntime()
          await replaceForAll(source, this.membership, next)
        } catch (error) {
          reject(error)
          await this.#openNext(before)
          return
        }
        if (next.joining) this.#showBootstrapping(next.joining)
        resolve()
        await this.#openNext(next.rootKeyAfter(before))
        if (next.opensItself?.()) await this.#unsealing.begin()
      })
    })
  }

  /**
   * Opens the runtime on another source, which `move` creates from the current engine. Unseals the runtime with
   * `rootKey`, or else with the previous key. If `move` rejects, opens the runtime on the previous data and rejects.
   */
  moveData(reason: string, move: (engine: Engine) => Promise<EngineSource>, rootKey?: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isClosing) return reject(new LogicalError('unavailable', STOPPING_REFUSAL))
      this.#change(reason, () => this.#move(move, rootKey).then(resolve, reject))
    })
  }

  async #move(move: (engine: Engine) => Promise<EngineSource>, rootKey: Buffer | undefined): Promise<void> {
    const old = this.#requireSource()
    let key = this.#rootKey
    try {
      await this.#closeRuntime()
      this.adopt(await move(old.engine))
      key = rootKey ?? key
      await old.close()
    } finally {
      await this.#openNext(key)
    }
  }

  get engine(): Engine {
    return this.#requireSource().engine
  }

  readonly settled = (): Promise<void> => this.#changing

  refuseChanges(): void {
    this.#stop.abort()
  }

  autoUnseal(): Promise<void> {
    return this.#unsealing.begin()
  }

  /** Closes the runtime after the current change. The data stays open. */
  async end(): Promise<void> {
    await this.#changing
    await this.#unsealing.settled()
    await this.#closeRuntime()
  }

  async closeData(): Promise<void> {
    const source = this.#source
    this.#source = undefined
    await source?.close()
  }

  get #isClosing(): boolean {
    return this.#stop.signal.aborted
  }

  get #rootKey(): Buffer | undefined {
    return this.#runtime?.seal.rootKey
  }

  /**
   * Runs changes of the runtime one at a time. Logs the errors of `run`, since no caller receives them. A change may
   * set `membership`.
   */
  #change(reason: string, run: () => Promise<void>): void {
    if (this.#isClosing) return
    const { log } = this.#options
    log.info('runtime rebuild started', { reason })
    this.membership?.changing()
    this.#showRestarting()
    this.#changing = this.#changing.then(async () => {
      // The runtime that the previous change opened may already serve requests.
      this.#showRestarting()
      await run().catch((error: unknown) => log.error('cannot complete a change of the cluster', { reason, error }))
      this.membership?.changed()
    })
  }

  #showRestarting(): void {
    if (this.#restartView || !this.#runtime) return
    const { status, shell, clock } = this.#options
    this.#restartView = new RestartView(this.#runtime, shell, clock)
    status.freeze({ isOpen: !this.#runtime.seal.isSealed })
  }

  #show(runtime: Runtime): void {
    this.#runtime = runtime
    this.#options.status.follow(runtime)
    this.#restartView = undefined
    this.resumeWrites()
  }

  #showBootstrapping(joining: FreshStart['joining']): void {
    this.#options.status.showBootstrapping(joining.kind)
    this.#restartView?.showBootstrapping(joining)
  }

  /** Opens a runtime on the current generation of the data, and unseals it if there is a root key. */
  async #openNext(rootKey: Buffer | undefined): Promise<void> {
    const runtime = await openAgain({
      ...this.#options,
      open: () => this.#openRuntime(),
      rootKey,
      signal: this.#stop.signal,
    })
    if (!runtime) return
    this.#show(runtime)
    // Data that another node published may have another root key.
    if (rootKey && runtime.seal.isSealed && this.membership) await this.#unsealing.begin()
  }

  async #rebuild(release: () => Promise<void>): Promise<void> {
    const rootKey = this.#rootKey
    await this.#closeRuntime()
      .finally(release)
      .catch((error: unknown) => this.#options.log.error('the previous runtime did not close cleanly', { error }))
    await this.#openNext(rootKey)
  }

  async #closeRuntime(): Promise<void> {
    const runtime = this.#runtime
    if (!this.#isClosing) this.membership?.changing()
    this.#runtime = undefined
    await runtime?.close()
  }

  #openRuntime(): Promise<Runtime> {
    const { signal } = this.#stop
    this.#autoSeal ??= createAutoSeal(this.#options.config, { ...this.#options, signal })
    const [membership, source] = [this.membership, this.#requireSource()]
    return Runtime.open({ ...this.#options, membership, autoSeal: this.#autoSeal, changes: this, source, signal })
  }

  #requireSource(): EngineSource {
    if (!this.#source) throw new Error('the data of the server is closed')
    return this.#source
  }
}

/** Maximum time in ms that requests in flight delay a restart. */
const SETTLE_MS = 2000
