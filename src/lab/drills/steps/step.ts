import type { Schema, ValueOf } from '../../documents/schema.js'
import type { DrillContext } from '../context/drill-context.js'
import type { Row } from '../context/forms.js'

/** One verb of steps: the only place that defines it. */
export interface StepRow<S = Schema, V = unknown> extends Row<S, V> {
  /** What a lab must have, apart from servers. */
  readonly needs?: 'links'
  /** Rejects if the step cannot run, or if its result is not the expected one. */
  run(context: DrillContext, value: V): Promise<unknown>
}

export const step = <const S extends Schema>(row: StepRow<S, ValueOf<S>>): StepRow<S, ValueOf<S>> => row
