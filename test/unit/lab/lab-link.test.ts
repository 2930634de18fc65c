import { expect, it } from 'vitest'
import { LabLink } from '../../../src/lab/links/links.js'

/** As from JavaScript, without type checks. */
const set = (...given: readonly unknown[]) =>
  (new LabLink([]).setFault as (...given: readonly unknown[]) => void).bind(new LabLink([]))(...given)

it('a link rejects an unknown fault, and one without its parameters', () => {
  expect(() => set('latancy', { ms: 3 })).toThrow('there is no fault "latancy"; did you mean "latency"?')
  expect(() => set('latency', { msec: 3 })).toThrow('there is no field of the fault latency "msec"')
  expect(() => set('latency', {})).toThrow('the fault latency needs the number "ms"')
  expect(() => set('latency')).toThrow('the fault latency needs the number "ms"')
  expect(() => set('latency', { ms: '80ms' })).toThrow('the fault latency needs the number "ms"')
  expect(() => set('slicer', { averageBytes: 10 })).not.toThrow()
  expect(() => set('latency', { ms: 80, jitterMs: 5, toxicity: 0.5 })).not.toThrow()
})
