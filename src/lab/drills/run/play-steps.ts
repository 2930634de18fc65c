import { LabError } from '../../model/lab-error.js'
import { findOtherError } from '../answers.js'
import { describeError, describeStep } from '../describe.js'
import type { Step } from '../drill.js'
import type { DrillResult, StepResult } from '../result.js'
import type { DrillWatcher } from '../drill-watcher.js'
import type { DrillContext } from '../drill-context.js'
import { play } from '../verbs/verbs.js'

/** The verdict on a drill as a whole. The first failure decides it. */
interface Verdict {
  readonly verdict: DrillResult['verdict']
  /** Why the drill could not be played to its end. */
  readonly error: string | null
}

/** Plays the steps of one drill, in order; after the first that did not succeed the others are skipped. */
export class StepPlayer {
  readonly results: StepResult[] = []
  readonly #drill: string
  readonly #context: DrillContext
  readonly #watcher: DrillWatcher
  #lines: string[] = []
  #output = ''
  #verdict: Verdict = { verdict: 'passed', error: null }

  constructor(drill: string, context: DrillContext, watcher: DrillWatcher) {
    this.#drill = drill
    this.#context = context
    this.#watcher = watcher
    context.onLine((line) => {
      this.#lines.push(line)
      watcher.onLine?.(line)
    })
    context.onOutput((text) => {
      this.#output += text
    })
  }

  get verdict(): Verdict {
    return this.#verdict
  }

  get isPassed(): boolean {
    return this.#verdict.verdict === 'passed'
  }

  /** Whether there are steps that were not reached, or cannot be played: clients have seen but a part of the drill. */
  get isBrokenOff(): boolean {
    return this.#verdict.verdict === 'error' || this.results.some(({ outcome }) => outcome === 'skipped')
  }

  /** Later failures do not change the verdict: they may follow from the first. */
  fail(error: string | null = null): void {
    if (this.isPassed) this.#verdict = { verdict: error === null ? 'failed' : 'error', error }
  }

  async play(steps: readonly Step[], phase: StepResult['phase']): Promise<void> {
    for (const step of steps) {
      this.#context.signal.throwIfAborted()
      this.results.push(this.isPassed ? await this.#playStep(step, phase) : this.#skipped(step, phase))
    }
  }

  async #playStep(step: Step, phase: StepResult['phase']): Promise<StepResult> {
    await this.#watcher.onStep?.(step, this.results.length + 1, phase)
    this.#lines = []
    this.#output = ''
    const startedMs = this.#context.now()
    await this.#tell(step, 'begins')
    const error = await this.#findFailure(step)
    const result: StepResult = {
      phase,
      name: step.name ?? describeStep(step),
      verb: step.verb,
      detail: describeStep(step),
      commands: this.#lines,
      startedMs,
      tookMs: this.#context.now() - startedMs,
      outcome: error === undefined ? 'passed' : 'failed',
      ...(this.#output === '' ? {} : { output: this.#output }),
      ...(error === undefined ? {} : { error }),
    }
    await this.#tell(step, result.outcome)
    this.#watcher.onStepEnd?.(result)
    return result
  }

  #skipped(step: Step, phase: StepResult['phase']): StepResult {
    const startedMs = this.#context.now()
    const detail = describeStep(step)
    const { verb, name = detail } = step
    return { phase, name, verb, detail, commands: [], startedMs, tookMs: 0, outcome: 'skipped' }
  }

  /** The failure of a step, which is also that it was not refused although it should have been. */
  async #findFailure(step: Step): Promise<string | undefined> {
    try {
      await play(this.#context, step)
    } catch (error) {
      this.#context.signal.throwIfAborted()
      // The step cannot be played at all, which says nothing about the clusters.
      if (error instanceof LabError && error.code === 'usage') {
        this.fail(error.message)
        return error.message
      }
      const failure = step.error ? findOtherError(error, step.error) : describeError(error)
      if (failure !== undefined) this.fail()
      return failure
    }
    if (!step.error) return undefined
    this.fail()
    return 'it was not refused'
  }

  #tell(step: Step, phase: string): Promise<void> {
    const details = { drill: this.#drill, step: step.name ?? describeStep(step), verb: step.verb, phase }
    return this.#context.lab.events.append({ kind: 'drill', details })
  }
}
