import { counted } from '../../../base/counted.js'
import { messageOf } from '../../../base/printable.js'
import type { LabEvent } from '../../events/event.js'
import type { LiveLab } from '../../live/live-lab.js'
import { type ClusterLoss, countLost, newLosses, pathsOf, readLosses, restoredBy } from '../../requests/losses.js'
import { DrillContext } from '../context/drill-context.js'
import type { DrillAudit, DrillEvent, DrillResult, ExpectationResult, ObservedLab } from '../context/result.js'
import { StatusCollector, type StatusSample, toObservedLab } from '../context/status-samples.js'
import type { CheckResult } from '../context/forms.js'
import {
  checkFact,
  describeExpectation,
  type Expectation,
  expectationsOf,
  isOfLoad,
  judgeLoad,
  type Slo,
  wantedOf,
} from '../expectations/expectations.js'
import type { Measured } from '../expectations/load-expectations.js'
import { findActive, findPrimary, Load, type Write } from '../load/load.js'
import { measureRto, readBack, type ReadBack, toRpo } from '../load/measure.js'
import type { Drill } from '../parse.js'
import { type DrillWatcher, StepRunner } from './play-steps.js'
import { type Sampler, startSampler } from './sampler.js'
import { ANSWER_MS } from '../../status/observe.js'
import { packageVersion } from '../../../base/package-version.js'

export interface RunDrillOptions {
  /** Seed with which the lab was started, for the result. */
  readonly seed?: string | undefined
  /** Timeout of each wait that sets none, in milliseconds. Default: 60 s. */
  readonly timeoutMs?: number | undefined
  /** Limits for RTO and RPO in addition to the limits of the drill. */
  readonly slo?: Slo | undefined
  readonly signal?: AbortSignal | undefined
  /** Shell commands that rerun the drill. */
  readonly howToRepeat?: string | undefined
  /** Sign-off data for the report. */
  readonly audit?: Partial<DrillAudit> | undefined
  readonly watcher?: DrillWatcher | undefined
}

const TIMEOUT_MS = 60_000

const NO_AUDIT: DrillAudit = { operator: '', approver: '', change: '', environment: '' }

/** Maximum time at the end of a drill until all clients are served. */
const SETTLE_MS = 5000

/**
 * Runs a drill on a running lab, and leaves the lab running. Resolves with the result even if an assertion of the drill
 * fails. Rejects only if the drill is interrupted.
 */
export const runDrill = async (lab: LiveLab, drill: Drill, options: RunDrillOptions = {}): Promise<DrillResult> =>
  new DrillRun(lab, drill, options).play()

/** The losses that each cluster lists. */
type Losses = ReadonlyMap<string, readonly ClusterLoss[]>

/** Maximum number of paths of discarded entries in the result, per cluster. */
const PATHS_MAX = 100

const toDiscarded = (before: Losses, after: Losses): DrillResult['discarded'] =>
  [...after].flatMap(([cluster, now]) => {
    const losses = newLosses(before.get(cluster) ?? now, now)
    const [entries, paths] = [countLost(losses), pathsOf(losses).slice(0, PATHS_MAX)]
    return entries === 0 ? [] : [{ cluster, entries, paths, restored: restoredBy(losses) }]
  })

class DrillRun {
  readonly #lab: LiveLab
  readonly #drill: Drill
  readonly #options: RunDrillOptions
  readonly #slo: Slo
  readonly #watcher: DrillWatcher
  readonly #context: DrillContext
  readonly #player: StepRunner
  readonly #collector: StatusCollector
  readonly #observedEvents: DrillEvent[] = []
  #load: Load | undefined
  #sampler: Sampler | undefined

  constructor(lab: LiveLab, drill: Drill, options: RunDrillOptions) {
    const { watcher = {}, slo = {}, timeoutMs = TIMEOUT_MS, signal = new AbortController().signal } = options
    this.#lab = lab
    this.#drill = drill
    this.#options = options
    this.#slo = slo
    this.#watcher = watcher
    this.#context = new DrillContext(lab, { timeoutMs, signal })
    this.#player = new StepRunner(drill.name, this.#context, watcher)
    this.#collector = new StatusCollector(lab)
  }

  async play(): Promise<DrillResult> {
    const unsubscribe = this.#lab.events.subscribe((event) => this.#addEvent(event))
    try {
      await this.#lab.followActiveNodes()
      await this.#context.saveVariables()
      const lossesBefore = await this.#readLosses()
      await this.#player.play(this.#drill.setup, 'setup')
      const load = await this.#startLoad()
      const before = toObservedLab(this.#context.now(), await this.#collector.collect())
      this.#sampler = startSampler(this.#context, this.#collector, load?.attempts ?? [])
      await this.#player.play(this.#drill.steps, 'drill')
      if (load) await this.#settle(load)
      await load?.stop()
      await this.#sampler.stop()
      const measured = load && !this.#player.isIncomplete ? await this.#measure(load) : undefined
      const expectations = await this.#judge(measured)
      const discarded = toDiscarded(lossesBefore, await this.#readLosses())
      return { ...this.#result(before, measured, expectations, await this.#collector.collect()), discarded }
    } finally {
      unsubscribe()
      await this.#load?.stop()
      await this.#sampler?.stop()
      this.#collector.close()
      this.#context.end()
    }
  }

  /** Collects an event of the lab, except changes of roles: the sampler observes these on every kind of lab. */
  #addEvent({ time, kind, cluster, details, command }: LabEvent): void {
    if (kind !== 'role')
      this.#observedEvents.push({ atMs: this.#context.toDrillTime(time), kind, cluster, details, command })
  }

  /** Reads the losses of each cluster. Omits clusters that do not respond, because their losses are unknown. */
  async #readLosses(): Promise<Losses> {
    const ask = async (name: string) => {
      const client = this.#lab.anonymous(name).with({ timeoutMs: ANSWER_MS })
      const losses = await readLosses(client).catch(() => undefined)
      return losses === undefined ? [] : [[name, losses] as const]
    }
    return new Map((await Promise.all(this.#lab.clusters.map(({ name }) => ask(name)))).flat())
  }

  async #startLoad(): Promise<Load | undefined> {
    const { load: plan } = this.#drill
    if (!plan || !this.#player.isPassed) return undefined
    try {
      this.#load = await Load.start(this.#context, plan)
      this.#watcher.onText?.(`clients start on ${this.#load.homes.join(', ')}`)
      return this.#load
    } catch (error) {
      this.#context.signal.throwIfAborted()
      this.#player.fail(`the clients could not start: ${messageOf(error)}`)
      return undefined
    }
  }

  /** Waits for an ongoing interruption to end, so that its full length is measured. */
  async #settle(load: Load): Promise<void> {
    const served = async () => (load.isServed ? undefined : 'the last request of some clients was not accepted')
    await this.#context.wait('the requests of all clients to be accepted', served, SETTLE_MS).catch(() => undefined)
    this.#context.signal.throwIfAborted()
  }

  async #measure(load: Load): Promise<Measured> {
    const context = this.#context
    const { rtoMs: sloMs, writesLost: sloWrites } = wantedOf(this.#drill.expect, this.#slo)
    const { acknowledged } = load
    const rto = { ...measureRto(load.attempts), ...(sloMs === undefined ? {} : { sloMs }) }
    const tokens = await load.checkTokens()
    this.#watcher.onText?.(`reading back ${counted(acknowledged.length, 'acknowledged write')}`)
    const found = await this.#readBack(acknowledged)
    const rpo = { ...toRpo(acknowledged, found), ...(sloWrites === undefined ? {} : { sloWrites }) }
    return { context, load, rto, tokens, rpo, readOn: found?.cluster }
  }

  /** Reads the writes back from the primary, or from `read-back-on`. Undefined if no cluster responds. */
  async #readBack(writes: readonly Write[]): Promise<ReadBack | undefined> {
    try {
      const cluster = this.#drill.load?.readBackOn ?? findPrimary(await findActive(this.#lab), this.#context.promoted)
      return await readBack(this.#context, cluster, writes)
    } catch {
      this.#context.signal.throwIfAborted()
      return undefined
    }
  }

  async #judge(measured: Measured | undefined): Promise<ExpectationResult[]> {
    const results: ExpectationResult[] = []
    const { expect } = this.#drill
    const own = expect.map(describeExpectation)
    // A limit of the caller that the drill also has is checked once.
    const others = expectationsOf(this.#slo).filter((one) => !own.includes(describeExpectation(one)))
    for (const expectation of [...expect, ...others]) {
      this.#context.signal.throwIfAborted()
      const seen = await this.#check(expectation, measured)
      const result = { text: describeExpectation(expectation), ...seen }
      if (!seen.passed) this.#player.fail()
      results.push(result)
      this.#watcher.onExpectation?.(result)
    }
    return results
  }

  async #check(expectation: Expectation, measured: Measured | undefined): Promise<CheckResult> {
    if (isOfLoad(expectation.about)) {
      const why = this.#load ? 'the drill stopped early' : 'the clients did not start'
      if (!measured) return { passed: false, evidence: [`not measured: ${why}`] }
      return judgeLoad(measured, expectation)
    }
    if (!this.#player.isPassed && this.#player.results.some(({ outcome }) => outcome !== 'passed'))
      return { passed: false, evidence: ['not checked: an earlier step failed'] }
    return checkFact(this.#context, expectation)
  }

  /** `samples`: the state of the clusters at the end. */
  #result(
    before: ObservedLab,
    measured: Measured | undefined,
    expectations: readonly ExpectationResult[],
    samples: readonly StatusSample[],
  ): Omit<DrillResult, 'discarded'> {
    // Servers that do not respond are absent.
    const servers = samples.flatMap(({ name, version }) => (version === undefined ? [] : [[name, version] as const]))
    const { name, purpose, symptom = null, fix = null } = this.#drill
    const written = measured?.load.attempts.some(({ action }) => action === 'write') ? measured : undefined
    return {
      apiVersion: 'understudy/v1',
      kind: 'DrillResult',
      drill: name,
      purpose,
      symptom,
      fix,
      topology: this.#lab.topology.name,
      runner: this.#lab.kind,
      seed: this.#options.seed ?? '',
      versions: { understudy: packageVersion(), node: process.version, servers: Object.fromEntries(servers) },
      startedAt: this.#context.startedAt,
      durationMs: this.#context.now(),
      steps: this.#player.results,
      expectations,
      rto: written?.rto ?? null,
      rpo: written?.rpo ?? null,
      tokens: measured?.tokens ?? null,
      samples: this.#sampler?.samples ?? [],
      events: [...this.#observedEvents, ...(this.#sampler?.events ?? [])].sort((one, other) => one.atMs - other.atMs),
      before,
      after: toObservedLab(this.#context.now(), samples),
      audit: { ...NO_AUDIT, ...this.#options.audit },
      calls: this.#context.calls,
      howToRepeat: this.#options.howToRepeat ?? `understudy drill run ${name}`,
      ...this.#player.verdict,
    }
  }
}
