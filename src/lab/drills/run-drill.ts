import { LabError } from '../lab-error.js'
import type { LiveLab } from '../live-lab.js'
import { findOtherError } from './answers.js'
import { describeError, describeStep } from './describe.js'
import type { Count, Drill, Expectation, Step } from './drill.js'
import { describeExpectation } from './expectations/describe-expectation.js'
import { checkFact, type Seen } from './expectations/facts.js'
import { findTruth, judgeLoad, type LoadExpectation, type Measured } from './expectations/judged.js'
import { measureRto } from './load/interruptions.js'
import { Load } from './load/load.js'
import { readBack, toRpo, unmeasuredRpo } from './load/read-back.js'
import { durationOf } from './parse.js'
import { toPicture, Witness } from './picture.js'
import { Sampler } from './sampler.js'
import type { DrillEvent, DrillResult, ExpectationResult, Picture, StepResult } from './result.js'
import { LOAD_EXPECTATIONS } from './schema/expectations.js'
import { Stage } from './stage.js'
import { versionsOf } from './versions.js'
import { play } from './verbs/verbs.js'

export interface RunDrillOptions {
  /** Shown in the result; whoever brings the lab up uses it. */
  readonly seed?: string | undefined
  /** Bound on each wait that names none of its own; 60 s by default. */
  readonly timeoutMs?: number | undefined
  /** What is wanted of rto and rpo beyond what the drill says. */
  readonly slo?: Slo | undefined
  readonly signal?: AbortSignal | undefined
  /** Lines of a shell that play it once more. */
  readonly howToRepeat?: string | undefined
  readonly watcher?: DrillWatcher | undefined
}

export interface Slo {
  readonly rtoMs?: number | undefined
  readonly writesLost?: number | undefined
}

/** Whoever looks on while a drill is played. */
export interface DrillWatcher {
  onStep?(step: Step, number: number, phase: StepResult['phase']): void | Promise<void>
  onLine?(line: string): void
  onStepEnd?(result: StepResult): void
  onText?(text: string): void
  onExpectation?(result: ExpectationResult): void
}

const TIMEOUT_MS = 60_000

/** How long clients that move may take at the end, before they are stopped. */
const SETTLE_MS = 5000

/**
 * Plays a drill on a lab that is up, and leaves the lab up. Resolves with what came of it, also when something that the drill
 * asserts is not so; rejects only when it is interrupted.
 */
export const runDrill = async (lab: LiveLab, drill: Drill, options: RunDrillOptions = {}): Promise<DrillResult> => {
  const run = new DrillRun(lab, drill, options)
  return run.play()
}

class DrillRun {
  readonly #lab: LiveLab
  readonly #drill: Drill
  readonly #options: RunDrillOptions
  readonly #watcher: DrillWatcher
  readonly #stage: Stage
  readonly #witness: Witness
  readonly #startedAt: string
  readonly #steps: StepResult[] = []
  readonly #told: DrillEvent[] = []
  #lines: string[] = []
  #verdict: DrillResult['verdict'] = 'passed'
  #error: string | null = null
  #before: Picture | null = null

  constructor(lab: LiveLab, drill: Drill, options: RunDrillOptions) {
    this.#lab = lab
    this.#drill = drill
    this.#options = options
    this.#watcher = options.watcher ?? {}
    this.#startedAt = new Date(lab.clock.now()).toISOString()
    this.#stage = new Stage(lab, {
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      signal: options.signal ?? new AbortController().signal,
      onLine: (line) => {
        this.#lines.push(line)
        this.#watcher.onLine?.(line)
      },
    })
    this.#witness = new Witness(lab)
  }

  async play(): Promise<DrillResult> {
    const now = () => this.#stage.now()
    const unsubscribe = this.#lab.events.subscribe(({ kind, cluster, details, command }) => {
      // Roles are looked at here, the same for every kind of lab.
      if (kind === 'role') return
      this.#told.push({
        atMs: now(),
        kind,
        ...(cluster === undefined ? {} : { cluster }),
        details,
        ...(command === undefined ? {} : { command }),
      })
    })
    let load: Load | undefined
    let sampler: Sampler | undefined
    try {
      await this.#stage.variables.learnAddresses()
      await this.#playAll(this.#drill.setup, 'setup')
      load = await this.#startLoad()
      this.#before = toPicture(now(), await this.#witness.ask())
      sampler = new Sampler({ clock: this.#lab.clock, witness: this.#witness, ledger: load?.ledger, now })
      sampler.start()
      await this.#playAll(this.#drill.steps, 'drill')
      if (load) await this.#settle(load)
      await load?.stop()
      await sampler.stop()
      const measured = load && (await this.#measure(load))
      const expectations = await this.#judge(measured)
      const after = toPicture(now(), await this.#witness.ask())
      return await this.#result({ measured, expectations, sampler, after })
    } finally {
      unsubscribe()
      await load?.stop()
      await sampler?.stop()
      this.#witness.close()
      this.#stage.end()
    }
  }

  async #playAll(steps: readonly Step[], phase: StepResult['phase']): Promise<void> {
    for (const step of steps) {
      this.#stage.signal.throwIfAborted()
      if (this.#verdict !== 'passed') this.#steps.push(this.#skipped(step, phase))
      else this.#steps.push(await this.#playStep(step, phase))
    }
  }

  async #playStep(step: Step, phase: StepResult['phase']): Promise<StepResult> {
    await this.#watcher.onStep?.(step, this.#steps.length + 1, phase)
    this.#lines = []
    const startedMs = this.#stage.now()
    await this.#tell(step, 'begins')
    const error = await this.#findFailure(step)
    const result: StepResult = {
      phase,
      name: step.name ?? describeStep(step),
      verb: step.verb,
      detail: describeStep(step),
      commands: this.#lines,
      startedMs,
      tookMs: this.#stage.now() - startedMs,
      outcome: error === undefined ? 'passed' : 'failed',
      ...(error === undefined ? {} : { error }),
    }
    await this.#tell(step, result.outcome)
    this.#watcher.onStepEnd?.(result)
    return result
  }

  #skipped(step: Step, phase: StepResult['phase']): StepResult {
    const startedMs = this.#stage.now()
    const detail = describeStep(step)
    const { verb, name = detail } = step
    return { phase, name, verb, detail, commands: [], startedMs, tookMs: 0, outcome: 'skipped' }
  }

  /** What is wrong with how a step came out, which is also that it was not refused although it should have been. */
  async #findFailure(step: Step): Promise<string | undefined> {
    try {
      await play(this.#stage, step)
    } catch (error) {
      this.#stage.signal.throwIfAborted()
      // It cannot be played at all, which says nothing about the clusters.
      if (error instanceof LabError && error.code === 'usage') {
        this.#verdict = 'error'
        this.#error = error.message
        return error.message
      }
      const failure = step.error ? findOtherError(error, step.error) : describeError(error)
      if (failure !== undefined) this.#verdict = 'failed'
      return failure
    }
    if (!step.error) return undefined
    this.#verdict = 'failed'
    return 'it was not refused'
  }

  #tell(step: Step, phase: string): Promise<void> {
    const details = { drill: this.#drill.name, step: step.name ?? describeStep(step), verb: step.verb, phase }
    return this.#lab.events.append({ kind: 'drill', details })
  }

  async #startLoad(): Promise<Load | undefined> {
    const { load: plan } = this.#drill
    if (!plan || this.#verdict !== 'passed') return undefined
    try {
      const load = await Load.start(this.#stage, plan)
      this.#watcher.onText?.(`clients begin at ${load.homes.join(', ')}`)
      return load
    } catch (error) {
      this.#stage.signal.throwIfAborted()
      this.#verdict = 'error'
      this.#error = `the clients could not begin: ${describeError(error)}`
      return undefined
    }
  }

  /** An interruption that is about to end is measured to its end. */
  async #settle(load: Load): Promise<void> {
    const served = async () => (load.isServed ? undefined : 'some clients are not served')
    await this.#stage.wait('clients to be served', served, SETTLE_MS).catch(() => undefined)
    this.#stage.signal.throwIfAborted()
  }

  async #measure(load: Load): Promise<Measured> {
    const { slo = {} } = this.#options
    const rto = measureRto(load.ledger.attempts)
    const sloMs = slo.rtoMs ?? this.#wantedRtoMs()
    const base = { load, rto: sloMs === undefined ? rto : { ...rto, sloMs }, tokens: await load.checkTokens() }
    const sloWrites = slo.writesLost ?? this.#wantedWritesLost()
    const withSlo = (rpo: Measured['rpo']) => (sloWrites === undefined ? rpo : { ...rpo, sloWrites })
    this.#watcher.onText?.(`${load.ledger.acknowledged.length} acknowledged writes are read back`)
    try {
      const cluster = await findTruth(this.#stage, this.#drill.load?.readBackOn)
      const found = await readBack(this.#lab, cluster, load.ledger.acknowledged)
      return { ...base, rpo: withSlo(toRpo(found)), readOn: cluster }
    } catch {
      this.#stage.signal.throwIfAborted()
      return { ...base, rpo: withSlo(unmeasuredRpo(load.ledger)), readOn: undefined }
    }
  }

  #wantedRtoMs(): number | undefined {
    const bounds = this.#drill.expect.flatMap((one) =>
      one.about === 'rto' && one.with.client === undefined && one.with['at-most']
        ? [durationOf(one.with['at-most'])]
        : [],
    )
    return bounds.length > 0 ? Math.min(...bounds) : undefined
  }

  #wantedWritesLost(): number | undefined {
    const bounds = this.#drill.expect.flatMap((one) =>
      one.about === 'rpo' && one.with.client === undefined ? mostOf(one.with['writes-lost']) : [],
    )
    return bounds.length > 0 ? Math.min(...bounds) : undefined
  }

  async #judge(measured: Measured | undefined): Promise<ExpectationResult[]> {
    const results: ExpectationResult[] = []
    for (const expectation of [...this.#drill.expect, ...this.#sloExpectations()]) {
      this.#stage.signal.throwIfAborted()
      const seen = await this.#see(expectation, measured)
      const result = { text: describeExpectation(expectation), ...seen }
      if (!seen.passed && this.#verdict === 'passed') this.#verdict = 'failed'
      results.push(result)
      this.#watcher.onExpectation?.(result)
    }
    return results
  }

  async #see(expectation: Expectation, measured: Measured | undefined): Promise<Seen> {
    if (expectation.about in LOAD_EXPECTATIONS) {
      if (!measured) return { passed: false, evidence: ['not measured: the clients never began'] }
      return judgeLoad(this.#stage, expectation as LoadExpectation, measured)
    }
    if (this.#verdict !== 'passed' && this.#steps.some(({ outcome }) => outcome !== 'passed'))
      return { passed: false, evidence: ['not looked at: a step before did not succeed'] }
    return checkFact(this.#stage, expectation as Parameters<typeof checkFact>[1])
  }

  #sloExpectations(): Expectation[] {
    const { rtoMs, writesLost } = this.#options.slo ?? {}
    return [
      ...(rtoMs === undefined ? [] : [{ about: 'rto', with: { 'at-most': textOf(rtoMs) } } as const]),
      ...(writesLost === undefined
        ? []
        : [{ about: 'rpo', with: { 'writes-lost': { 'at-most': writesLost } } } as const]),
    ]
  }

  async #result(parts: {
    readonly measured: Measured | undefined
    readonly expectations: readonly ExpectationResult[]
    readonly sampler: Sampler
    readonly after: Picture
  }): Promise<DrillResult> {
    const { measured, expectations, sampler, after } = parts
    const { name, purpose, symptom = null, fix = null } = this.#drill
    const hasWriters = measured !== undefined && measured.load.ledger.writes.length > 0
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
      versions: await versionsOf(this.#lab),
      startedAt: this.#startedAt,
      durationMs: this.#stage.now(),
      steps: this.#steps,
      expectations,
      rto: hasWriters ? measured.rto : null,
      rpo: hasWriters ? measured.rpo : null,
      tokens: measured?.tokens ?? null,
      samples: sampler.samples,
      events: [...this.#told, ...sampler.events].sort((one, other) => one.atMs - other.atMs),
      before: this.#before,
      after,
      calls: this.#stage.calls,
      howToRepeat: this.#options.howToRepeat ?? `understudy drill run ${name}`,
      verdict: this.#verdict,
      error: this.#error,
    }
  }
}

/** As a drill file would have it: `60s`, or `1ms` where it is not whole seconds. */
const textOf = (ms: number): string => (ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)

const mostOf = (wanted: Count): number[] => {
  const most = typeof wanted === 'number' ? wanted : wanted['at-most']
  return most === undefined ? [] : [most]
}
