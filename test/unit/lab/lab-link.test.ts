import { expect, it } from 'vitest'
import { LabLink } from '../../../src/lab/links/links.js'

/** As from JavaScript, without type checks. */
const set = (...given: readonly unknown[]) =>
  (new LabLink([]).setFault as (...given: readonly unknown[]) => void).bind(new LabLink([]))(...given)

it('a link rejects an unknown fault, and one without its parameters', () => {
  expect(() => set('latancy', { ms: 3 })).toThrow('setFault: unknown key "latancy"; did you mean "latency"?')
  expect(() => set('latency', { ms: 3, msec: 3 })).toThrow(
    'setFault: unknown key "latency.msec"; known keys: ms, jitterMs',
  )
  for (const fault of [{}, undefined, null])
    expect(() => set('latency', fault)).toThrow('setFault: latency requires "ms"')
  expect(() => set('latency', { ms: '80ms' })).toThrow(
    'setFault: latency.ms is a string, but must be a number of at least 0',
  )
  expect(() => set('latency', { ms: Number.NaN })).toThrow('setFault: latency.ms is NaN, but must be')
  expect(() => set('slicer', { averageBytes: 10 })).not.toThrow()
  expect(() => set('latency', { ms: 80, jitterMs: 5, toxicity: 0.5 })).not.toThrow()
})
