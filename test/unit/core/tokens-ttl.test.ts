import { describe, expect, it } from 'vitest'
import { decideTtl, smallestSet, type TtlFacts } from '../../../src/logical/ttl.js'

const HOUR = 3600
const DAY = 24 * HOUR

/** Returns the facts of a token issued just now, on a mount with the default lease TTLs. */
const facts = (more: Partial<TtlFacts>, ageSeconds = 0): TtlFacts => ({
  nowMs: 1_700_000_000_000 + ageSeconds * 1000,
  issuedMs: 1_700_000_000_000,
  incrementSeconds: 0,
  ttlSeconds: 0,
  maxTtlSeconds: 0,
  explicitMaxTtlSeconds: 0,
  periodSeconds: 0,
  mount: { defaultLeaseTtlSeconds: 32 * DAY, maxLeaseTtlSeconds: 32 * DAY },
  ...more,
})

const ttlCapped = (asked: string, cap: string) =>
  `TTL of "${asked}" exceeded the effective max_ttl of "${cap}"; TTL value is capped accordingly`
const periodCapped = (asked: string, cap: string) =>
  `period of "${asked}" exceeded the effective max_ttl of "${cap}"; period value is capped accordingly`

describe('the life of a token', () => {
  it.each([
    ['the mount decides when nobody else does', {}, 32 * DAY, []],
    ['the role comes before the mount', { ttlSeconds: HOUR }, HOUR, []],
    ['the request comes before the role', { ttlSeconds: HOUR, incrementSeconds: 600 }, 600, []],
    ['the mount caps', { ttlSeconds: 1000 * HOUR }, 32 * DAY, [ttlCapped('1000h', '768h')]],
    ['a maximum of the role caps', { ttlSeconds: HOUR, maxTtlSeconds: 1500 }, 1500, [ttlCapped('1h', '25m')]],
    ['the default of the mount is capped too', { maxTtlSeconds: 1500 }, 1500, [ttlCapped('768h', '25m')]],
    ['an explicit maximum caps', { ttlSeconds: HOUR, explicitMaxTtlSeconds: 1800 }, 1800, [ttlCapped('1h', '30m')]],
    ['the smallest maximum counts', { maxTtlSeconds: 600, explicitMaxTtlSeconds: 300 }, 300, [ttlCapped('768h', '5m')]],
    ['a period is the life', { periodSeconds: 2700, incrementSeconds: 60, ttlSeconds: 60 }, 2700, []],
    ['the mount caps a period', { periodSeconds: 1000 * HOUR }, 32 * DAY, [periodCapped('1000h', '768h')]],
    [
      'so does an explicit maximum',
      { periodSeconds: HOUR, explicitMaxTtlSeconds: 90 },
      90,
      [periodCapped('1h', '1m30s')],
    ],
    [
      'a mount may allow more than the system',
      { ttlSeconds: 1000 * HOUR, mount: { defaultLeaseTtlSeconds: DAY, maxLeaseTtlSeconds: 2000 * HOUR } },
      1000 * HOUR,
      [],
    ],
  ] as [string, Partial<TtlFacts>, number, string[]][])('%s', (_name, more, ttlSeconds, warnings) => {
    expect(decideTtl(facts(more))).toEqual({ ttlSeconds, warnings })
  })
})

describe('the life that a renewal grants', () => {
  it.each([
    ['counts from now', { ttlSeconds: HOUR }, 1800, HOUR, []],
    [
      'ends at the maximum after the issue',
      { ttlSeconds: HOUR, maxTtlSeconds: HOUR },
      1800,
      1800,
      [ttlCapped('1h', '30m')],
    ],
    ['goes on for ever with a period', { periodSeconds: HOUR }, 400 * DAY, HOUR, []],
    [
      'ends at an explicit maximum even with a period',
      { periodSeconds: HOUR, explicitMaxTtlSeconds: 2 * HOUR },
      2 * HOUR - 60,
      60,
      [periodCapped('1h', '1m')],
    ],
  ] as [string, Partial<TtlFacts>, number, number, string[]][])('%s', (_name, more, age, ttlSeconds, warnings) => {
    expect(decideTtl(facts(more, age))).toEqual({ ttlSeconds, warnings })
  })

  it.each([
    ['at the maximum', { maxTtlSeconds: HOUR }, HOUR],
    ['past it', { maxTtlSeconds: HOUR }, HOUR + 1],
    ['past an explicit maximum of a periodic token', { periodSeconds: 60, explicitMaxTtlSeconds: HOUR }, HOUR + 1],
  ] as [string, Partial<TtlFacts>, number][])('renewal fails %s', (_name, more, age) => {
    expect(() => decideTtl(facts(more, age))).toThrow('past the max TTL, cannot renew')
  })
})

it('smallestSet returns the smallest value that is set', () => {
  expect([smallestSet(), smallestSet(0, 0), smallestSet(0, 5, 3), smallestSet(7)]).toEqual([0, 0, 3, 7])
})

it('fractions of a second of a TTL are kept, also at its end', () => {
  expect(decideTtl(facts({ ttlSeconds: 0.5 }))).toEqual({ ttlSeconds: 0.5, warnings: [] })
  expect(decideTtl(facts({ explicitMaxTtlSeconds: 0.5 }))).toEqual({
    ttlSeconds: 0.5,
    warnings: [ttlCapped('768h', '500ms')],
  })
  expect(decideTtl(facts({ periodSeconds: 2, explicitMaxTtlSeconds: 2.5 }, 2)).ttlSeconds).toBe(0.5)
})
