import type { Schema, ValueOf } from '../../documents/schema.js'
import type { DrillContext } from '../context/drill-context.js'

/** One verb of steps: the only place that defines it. */
export interface StepRow<S = Schema, V = unknown> {
  readonly schema: S
  /** Describes the step in English. */
  text(value: V): string
  /** Returns problems that the schema cannot express. */
  problems?(value: V): readonly string[]
  /** What a lab must have, apart from servers. */
  readonly needs?: 'links'
  /** Rejects if the step cannot run, or if its result is not the expected one. */
  run(context: DrillContext, value: V): Promise<unknown>
}

export const step = <const S extends Schema>(row: StepRow<S, ValueOf<S>>): StepRow<S, ValueOf<S>> => row
