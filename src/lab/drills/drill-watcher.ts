import type { Step } from './drill.js'
import type { ExpectationResult, StepResult } from './result.js'

/** Told of a drill's progress while it is played. */
export interface DrillWatcher {
  onStep?(step: Step, number: number, phase: StepResult['phase']): void | Promise<void>
  onLine?(line: string): void
  onStepEnd?(result: StepResult): void
  onText?(text: string): void
  onExpectation?(result: ExpectationResult): void
}
