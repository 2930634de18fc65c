import { messageOf } from '../../../base/printable.js'
import { inStep } from '../../../base/progress.js'
import { LabError } from '../../model/lab-error.js'
import { findOtherError } from '../context/answers.js'
import type { DrillContext } from '../context/drill-context.js'
import type { DrillResult, ExpectationResult, StepResult } from '../context/result.js'
import { describeStep, runStep, type Step } from '../steps/steps.js'

/** Receives the progress of a running drill. */
export interface DrillWatcher {
  onStep?(step: Step, number: number, phase: StepResult['phase']): void | Promise<void>
  onLine?(line: string): void
  onStepEnd?(result: StepResult): void
  onText?(text: string): void
  onExpectation?(result: ExpectationResult): void
}

/** The overall verdict on a drill. The first failure decides it. */
type Verdict = Pick<DrillResult, 'verdict' | 'error'>

const factsOf = (step: Step, phase: StepResult['phase']) => {
  const detail = describeStep(step)
  return { phase, name: step.name ?? detail, verb: step.verb, detail }
}

/** Runs the steps of one drill in order. After the first failure, skips the remaining steps. */
export class StepRunner {
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
    context.line = (line) => {
      this.#lines.push(line)
      watcher.onLine?.(line)
    }
    context.output = (text) => {
      this.#output += text
    }
  }

  get verdict(): Verdict {
    return this.#verdict
  }

  get isPassed(): boolean {
    return this.#verdict.verdict === 'passed'
  }

  /** Whether a step was skipped or could not run, so that the client results cover only part of the drill. */
  get isIncomplete(): boolean {
    return this.#verdict.verdict === 'error' || this.results.some(({ outcome }) => outcome === 'skipped')
  }

  /** Records the first failure. Later failures may follow from it and do not change the verdict. */
  fail(error: string | null = null): void {
    if (this.isPassed) this.#verdict = { verdict: error === null ? 'failed' : 'error', error }
  }

  async play(steps: readonly Step[], phase: StepResult['phase']): Promise<void> {
    for (const step of steps) {
      this.#context.signal.throwIfAborted()
      if (this.isPassed) this.results.push(await this.#playStep(step, phase))
      else {
        const startedMs = this.#context.now()
        this.results.push({ ...factsOf(step, phase), commands: [], startedMs, tookMs: 0, outcome: 'skipped' })
      }
    }
  }

  async #playStep(step: Step, phase: StepResult['phase']): Promise<StepResult> {
    await this.#watcher.onStep?.(step, this.results.length + 1, phase)
    this.#lines = []
    this.#output = ''
    const startedMs = this.#context.now()
    await this.#emit(step, 'begins')
    const facts = factsOf(step, phase)
    // The watcher reports the result.
    const error = await inStep(facts.name, () => this.#findFailure(step), '')
    const result: StepResult = {
      ...facts,
      commands: this.#lines,
      startedMs,
      tookMs: this.#context.now() - startedMs,
      outcome: error === undefined ? 'passed' : 'failed',
      ...(this.#output === '' ? {} : { output: this.#output }),
      ...(error === undefined ? {} : { error }),
    }
    await this.#emit(step, result.outcome)
    this.#watcher.onStepEnd?.(result)
    return result
  }

  /** Returns the failure of a step. If the drill expects an error, success is a failure. */
  async #findFailure(step: Step): Promise<string | undefined> {
    try {
      await runStep(this.#context, step)
    } catch (error) {
      this.#context.signal.throwIfAborted()
      // The step is invalid, so the verdict is an error of the drill, not a failure of the clusters.
      if (error instanceof LabError && error.code === 'usage') {
        this.fail(error.message)
        return error.message
      }
      const failure = step.error ? findOtherError(error, step.error) : messageOf(error)
      if (failure !== undefined) this.fail()
      return failure
    }
    if (!step.error) return undefined
    this.fail()
    return 'the step succeeded, but an error was expected'
  }

  #emit(step: Step, phase: string): Promise<void> {
    const details = { drill: this.#drill, step: step.name ?? describeStep(step), verb: step.verb, phase }
    return this.#context.lab.events.append({ kind: 'drill', details })
  }
}
