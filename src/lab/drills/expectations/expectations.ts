import { messageOf } from '../../../base/printable.js'
import type { ValueOf } from '../../documents/schema.js'
import { LabError } from '../../model/lab-error.js'
import type { DrillContext } from '../context/drill-context.js'
import { durationOf, nameVariables, type Row, schemasOf, type CheckResult } from '../context/forms.js'
import { FACTS } from './facts.js'
import { LOAD_EXPECTATIONS, type Measured } from './load-expectations.js'

/** All expectations. Those of the load are measured, so they can be checked only at the end of a drill. */
export const EXPECTATIONS = { ...LOAD_EXPECTATIONS, ...FACTS }

type Table = typeof EXPECTATIONS

export type Expectation = {
  readonly [E in keyof Table]: { readonly about: E; readonly with: ValueOf<Table[E]['schema']> }
}[keyof Table]

export const EXPECTATION_SCHEMAS = schemasOf(EXPECTATIONS)

export const isOfLoad = (about: string): about is keyof typeof LOAD_EXPECTATIONS =>
  Object.hasOwn(LOAD_EXPECTATIONS, about)

/** Converts an expectation of a drill file, such as `{ health: { cluster: A, is: 200 } }`. */
export const toExpectation = (entry: Readonly<Record<string, unknown>>): Expectation => {
  const about = Object.keys(entry).find((key) => Object.hasOwn(EXPECTATIONS, key)) ?? ''
  return { about, with: entry[about] } as Expectation
}

export const describeExpectation = ({ about, with: value }: Expectation): string =>
  nameVariables(EXPECTATIONS[about].text(value as never))
export const findExpectationProblems = ({ about, with: value }: Expectation): readonly string[] =>
  (EXPECTATIONS[about] as Row<never, CheckResult>).problems?.(value) ?? []

export const judgeLoad = async (measured: Measured, { about, with: value }: Expectation): Promise<CheckResult> => {
  const row: Row<Measured, CheckResult> = LOAD_EXPECTATIONS[about as keyof typeof LOAD_EXPECTATIONS]
  return row.run(measured, value)
}

/** Polls until the expectation holds or its time is over, and returns the last observation. */
export const checkFact = async (context: DrillContext, { about, with: given }: Expectation): Promise<CheckResult> => {
  const row: Row<DrillContext, CheckResult> = FACTS[about as keyof typeof FACTS]
  const check = async (value: unknown): Promise<CheckResult> => {
    try {
      return await row.run(context, value)
    } catch (error) {
      context.signal.throwIfAborted()
      return { passed: false, evidence: [messageOf(error)] }
    }
  }
  // `call` repeats its request itself if it has `within`.
  if (about === 'call') return check(given)
  const value = (await context.resolve(given)) as { readonly within?: string }
  let seen: CheckResult = { passed: false, evidence: [] }
  const attempt = async () => {
    seen = await check(value)
    return seen.passed ? undefined : seen.evidence.join('; ')
  }
  await context.wait(about, attempt, durationOf(value.within ?? '30s')).catch((error: unknown) => {
    if (error instanceof LabError && error.code === 'timeout') return
    throw error
  })
  return seen
}

/** Limits for RTO and RPO in addition to the limits of the drill. */
export interface Slo {
  readonly rtoMs?: number | undefined
  readonly writesLost?: number | undefined
}

/** Returns the limits for the result: those of `slo`, or else the strictest limits of the drill for all clients. */
export const wantedOf = (expect: readonly Expectation[], slo: Slo): Slo => {
  const least = (boundOf: (one: Expectation) => number | undefined): number | undefined => {
    const bounds = expect.flatMap((one) => ('client' in one.with && one.with.client ? [] : (boundOf(one) ?? [])))
    return bounds.length > 0 ? Math.min(...bounds) : undefined
  }
  const rtoOf = (one: Expectation) =>
    one.about === 'rto' && one.with['at-most'] ? durationOf(one.with['at-most']) : undefined
  const rpoOf = (one: Expectation) => (one.about === 'rpo' ? mostOf(one.with['writes-lost']) : undefined)
  return { rtoMs: slo.rtoMs ?? least(rtoOf), writesLost: slo.writesLost ?? least(rpoOf) }
}

const mostOf = (wanted: number | { readonly 'at-most'?: number }): number | undefined =>
  typeof wanted === 'number' ? wanted : wanted['at-most']

/** Returns the limits as expectations, which are checked like the expectations of the drill. */
export const expectationsOf = ({ rtoMs, writesLost }: Slo): Expectation[] => [
  ...(rtoMs === undefined ? [] : [{ about: 'rto', with: { 'at-most': durationText(rtoMs) } } as const]),
  ...(writesLost === undefined ? [] : [{ about: 'rpo', with: { 'writes-lost': { 'at-most': writesLost } } } as const]),
]

/** Formats a duration as in drill files: `60s`, or `1ms` if it is not whole seconds. */
const durationText = (ms: number): string => (ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)
