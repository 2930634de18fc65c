import { durationOf } from './context/forms.js'
import type { Expectation } from './expectations/expectations.js'
import type { Drill } from './parse.js'

/** Limits for RTO and RPO in addition to those of the drill. */
export interface Slo {
  readonly rtoMs?: number | undefined
  readonly writesLost?: number | undefined
}

/** Returns the stricter of the requested limits and the drill's own limits for all clients. */
export const wantedOf = ({ expect }: Pick<Drill, 'expect'>, slo: Slo): Slo => ({
  rtoMs: slo.rtoMs ?? least(expect.flatMap(rtoBound)),
  writesLost: slo.writesLost ?? least(expect.flatMap(rpoBound)),
})

/** Returns the limits as expectations, which are checked like those of the drill. */
export const expectationsOf = ({ rtoMs, writesLost }: Slo): Expectation[] => [
  ...(rtoMs === undefined ? [] : [{ about: 'rto', with: { 'at-most': textOf(rtoMs) } } as const]),
  ...(writesLost === undefined ? [] : [{ about: 'rpo', with: { 'writes-lost': { 'at-most': writesLost } } } as const]),
]

const least = (bounds: readonly number[]): number | undefined => (bounds.length > 0 ? Math.min(...bounds) : undefined)

const rtoBound = (one: Expectation): number[] =>
  one.about === 'rto' && one.with.client === undefined && one.with['at-most'] ? [durationOf(one.with['at-most'])] : []

const rpoBound = (one: Expectation): number[] =>
  one.about === 'rpo' && one.with.client === undefined ? mostOf(one.with['writes-lost']) : []

/** Formats a duration as in drill files: `60s`, or `1ms` if it is not whole seconds. */
const textOf = (ms: number): string => (ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)

const mostOf = (wanted: number | { readonly 'at-most'?: number }): number[] => {
  const most = typeof wanted === 'number' ? wanted : wanted['at-most']
  return most === undefined ? [] : [most]
}
