import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { limitSignal, linkSignals } from '../../../src/base/linked-signal.js'
import { ManualClock } from '../../support/manual-clock.js'

const two = () => [new AbortController(), new AbortController()] as const

it.each([0, 1])('a linked signal aborts with source signal %i and its reason', (which) => {
  const sources = two()
  using linked = linkSignals(sources.map(({ signal }) => signal))
  expect(linked.signal.aborted).toBe(false)
  const reason = new Error('enough')
  sources[which]?.abort(reason)
  expect(linked.signal.reason).toBe(reason)
})

it('a linked signal of an aborted source is aborted from the start', () => {
  const [one, other] = two()
  one.abort(new Error('before'))
  using linked = linkSignals([other.signal, one.signal])
  expect(linked.signal.reason).toBe(one.signal.reason)
})

it('a disposed linked signal leaves no listener on its sources', () => {
  const sources = two()
  const signals = sources.map(({ signal }) => signal)
  const linked = linkSignals(signals)
  linked[Symbol.dispose]()
  sources[0].abort()
  expect(linked.signal.aborted).toBe(false)
  for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([])
})

it('a limited signal aborts after its time, unless it is disposed of before', () => {
  const clock = new ManualClock()
  const { signal } = new AbortController()
  using late = limitSignal(clock, 100, signal, 'too late')
  limitSignal(clock, 100, signal, 'never')[Symbol.dispose]()
  clock.advance(100)
  expect(String(late.signal.reason)).toBe('Error: too late')
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
})
