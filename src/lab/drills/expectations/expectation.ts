import type { Schema, ValueOf } from '../../documents/schema.js'
import type { DrillContext } from '../context/drill-context.js'
import type { Row } from '../context/forms.js'

/** The result of one expectation, with evidence as sentences. */
export interface Seen {
  readonly passed: boolean
  readonly evidence: readonly string[]
}

/** One expectation: the only place that defines it. */
export interface ExpectationRow<Subject, S = Schema, V = unknown> extends Row<S, V> {
  see(subject: Subject, value: V): Seen | Promise<Seen>
}

/** An expectation about the clusters, which can be checked at any time. */
export const fact = <const S extends Schema>(
  row: ExpectationRow<DrillContext, S, ValueOf<S>>,
): ExpectationRow<DrillContext, S, ValueOf<S>> => row
