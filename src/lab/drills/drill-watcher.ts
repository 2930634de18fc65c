import type { Step } from './drill.js'
import type { ExpectationResult, StepResult } from './result.js'

/** Receives the progress of a running drill. */
export interface DrillWatcher {
  onStep?(step: Step, number: number, phase: StepResult['phase']): void | Promise<void>
  onLine?(line: string): void
  onStepEnd?(result: StepResult): void
  onText?(text: string): void
  onExpectation?(result: ExpectationResult): void
}
