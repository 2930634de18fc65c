import type { ValueOf } from '../../documents/schema.js'
import { LabError } from '../../model/lab-error.js'
import { describeError, type DrillContext } from '../context/drill-context.js'
import { durationOf } from '../context/forms.js'
import type { ExpectationRow, Seen } from './expectation.js'
import { FACTS } from './facts.js'
import { LOAD_EXPECTATIONS, type Measured } from './load-expectations.js'

/** All expectations. Those of the load are known only at the end of a drill. */
export const EXPECTATIONS = { ...LOAD_EXPECTATIONS, ...FACTS }

type Table = typeof EXPECTATIONS

export type Expectation = {
  readonly [E in keyof Table]: { readonly about: E; readonly with: ValueOf<Table[E]['schema']> }
}[keyof Table]

type Fact = Extract<Expectation, { readonly about: keyof typeof FACTS }>

export const EXPECTATION_SCHEMAS = Object.fromEntries(
  Object.entries(EXPECTATIONS).map(([name, { schema }]) => [name, schema]),
) as { readonly [E in keyof Table]: Table[E]['schema'] }

export const isOfLoad = (about: string): about is keyof typeof LOAD_EXPECTATIONS =>
  Object.hasOwn(LOAD_EXPECTATIONS, about)

/** Converts an expectation of a drill file, such as `{ health: { cluster: A, is: 200 } }`. */
export const toExpectation = (entry: Readonly<Record<string, unknown>>): Expectation => {
  const about = Object.keys(entry).find((key) => Object.hasOwn(EXPECTATIONS, key)) ?? ''
  return { about, with: entry[about] } as Expectation
}

/** Describes an expectation in English. */
export const describeExpectation = ({ about, with: value }: Expectation): string =>
  EXPECTATIONS[about].text(value as never)

/** Returns problems that the schema cannot express. */
export const findExpectationProblems = (about: Expectation['about'], value: unknown): readonly string[] => {
  const { problems }: Pick<ExpectationRow<never>, 'problems'> = EXPECTATIONS[about]
  return problems?.(value) ?? []
}

export const judgeLoad = async (measured: Measured, { about, with: value }: Expectation): Promise<Seen> => {
  const row: ExpectationRow<Measured> = LOAD_EXPECTATIONS[about as keyof typeof LOAD_EXPECTATIONS]
  return row.see(measured, value)
}

/** Polls until the expectation holds or its time is over, and returns the last observation. */
export const checkFact = async (context: DrillContext, expectation: Expectation): Promise<Seen> => {
  const { about, with: given } = expectation as Fact
  const row: ExpectationRow<DrillContext> = FACTS[about]
  const look = async (value: unknown): Promise<Seen> => {
    try {
      return await row.see(context, value)
    } catch (error) {
      context.signal.throwIfAborted()
      return { passed: false, evidence: [describeError(error)] }
    }
  }
  // A request is sent once, unless it has a time of its own.
  if (about === 'call') return look(given)
  const value = await context.variables.resolve(given)
  let seen: Seen = { passed: false, evidence: [] }
  const attempt = async () => {
    seen = await look(value)
    return seen.passed ? undefined : seen.evidence.join('; ')
  }
  await context.wait(about, attempt, durationOf(value.within ?? '30s')).catch((error: unknown) => {
    if (error instanceof LabError && error.code === 'timeout') return
    throw error
  })
  return seen
}
