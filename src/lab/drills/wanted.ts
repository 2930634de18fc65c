import type { Count, Drill, Expectation } from './drill.js'
import { durationOf } from './parse.js'

/** Bounds on rto and rpo that are asked for beside those of the drill. */
export interface Slo {
  readonly rtoMs?: number | undefined
  readonly writesLost?: number | undefined
}

/** The strictest bounds of what is asked for and what the drill itself expects of all clients. */
export const wantedOf = ({ expect }: Pick<Drill, 'expect'>, slo: Slo): Slo => ({
  rtoMs: slo.rtoMs ?? least(expect.flatMap(rtoBound)),
  writesLost: slo.writesLost ?? least(expect.flatMap(rpoBound)),
})

/** The bounds as expectations, to be judged like those of the drill. */
export const expectationsOf = ({ rtoMs, writesLost }: Slo): Expectation[] => [
  ...(rtoMs === undefined ? [] : [{ about: 'rto', with: { 'at-most': textOf(rtoMs) } } as const]),
  ...(writesLost === undefined ? [] : [{ about: 'rpo', with: { 'writes-lost': { 'at-most': writesLost } } } as const]),
]

const least = (bounds: readonly number[]): number | undefined => (bounds.length > 0 ? Math.min(...bounds) : undefined)

const rtoBound = (one: Expectation): number[] =>
  one.about === 'rto' && one.with.client === undefined && one.with['at-most'] ? [durationOf(one.with['at-most'])] : []

const rpoBound = (one: Expectation): number[] =>
  one.about === 'rpo' && one.with.client === undefined ? mostOf(one.with['writes-lost']) : []

/** A duration in the spelling of drill files: `60s`, or `1ms` where it is not whole seconds. */
const textOf = (ms: number): string => (ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)

const mostOf = (wanted: Count): number[] => {
  const most = typeof wanted === 'number' ? wanted : wanted['at-most']
  return most === undefined ? [] : [most]
}
