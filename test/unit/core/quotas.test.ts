import { describe, expect, it } from 'vitest'
import { QuotaIndex } from '../../../src/core/quotas/quota-index.js'
import type { Quota, RateQuota } from '../../../src/core/quotas/quota-record.js'
import { RateLimiter } from '../../../src/core/quotas/rate-limiter.js'
import { ManualClock } from '../../support/manual-clock.js'

const NAMESPACES = ['', 'a/', 'a/b/'].map((path) => ({ id: path === '' ? 'root' : path, path }))
const [ROOT, A, B] = NAMESPACES as [
  { id: string; path: string },
  { id: string; path: string },
  { id: string; path: string },
]

const quota = (name: string, target: Partial<Quota> = {}): Quota => ({
  name,
  namespaceId: 'root',
  mountUuid: '',
  suffix: '',
  role: '',
  inheritable: false,
  ...target,
})

const indexOf = (...quotas: Quota[]): QuotaIndex<Quota> => {
  const index = new QuotaIndex<Quota>((path) => NAMESPACES.find((one) => one.path === path))
  for (const one of quotas) index.add(one)
  return index
}

const QUOTAS = [
  quota('global', { inheritable: true }),
  quota('mount', { mountUuid: 'm' }),
  quota('glob', { mountUuid: 'm', suffix: 'data/*' }),
  quota('longer glob', { mountUuid: 'm', suffix: 'data/x/*' }),
  quota('exact', { mountUuid: 'm', suffix: 'data/x/y' }),
  quota('role', { mountUuid: 'm', role: 'r' }),
]

describe('the quota of a request', () => {
  const found = (index: QuotaIndex<Quota>, mountUuid: string, path: string, role?: string, namespace = ROOT) =>
    index.find({ namespace, mountUuid, path, role: () => role })?.name

  it.each([
    ['role', 'm', 'data/x/y', 'r'],
    ['exact', 'm', 'data/x/y', 'other'],
    ['exact', 'm', 'data/x/y/', undefined],
    ['longer glob', 'm', 'data/x/z', undefined],
    ['glob', 'm', 'data/z', undefined],
    ['mount', 'm', 'other', undefined],
    ['global', 'n', 'data/x/y', 'r'],
    ['global', '', '', undefined],
  ])('%s is the most specific one for mount "%s", path "%s" and role "%s"', (name, mountUuid, path, role) => {
    expect(found(indexOf(...QUOTAS), mountUuid, path, role)).toBe(name)
    expect(found(indexOf(...QUOTAS.toReversed()), mountUuid, path, role)).toBe(name)
  })

  it('the quota of a request is that of its namespace, or of the nearest parent whose quota is inheritable', () => {
    const global = quota('global', { inheritable: true })
    const parent = quota('parent', { namespaceId: A.id })
    const child = quota('child', { namespaceId: B.id })
    expect(found(indexOf(global, parent, child), 'm', 'x', undefined, B)).toBe('child')
    expect(found(indexOf(global, parent), 'm', 'x', undefined, A)).toBe('parent')
    expect(found(indexOf(global, parent), 'm', 'x', undefined, B)).toBe('global')
    expect(found(indexOf(global, { ...parent, inheritable: true }), 'm', 'x', undefined, B)).toBe('parent')
    expect(found(indexOf({ ...global, inheritable: false }), 'm', 'x', undefined, B)).toBeUndefined()
  })

  it('the role of a login is resolved only if a quota of the mount has a role', () => {
    const role = () => {
      throw new Error('resolved')
    }
    const [global, mount] = QUOTAS as [Quota, Quota]
    expect(indexOf(global, mount).find({ namespace: ROOT, mountUuid: 'm', path: 'login', role })).toBe(mount)
    const index = indexOf(mount)
    index.remove(mount)
    expect(index.isEmpty).toBe(true)
  })
})

describe('a rate limiter', () => {
  const start = (more: Partial<RateQuota> = {}) => {
    const clock = new ManualClock()
    const limiter = new RateLimiter({ ...quota('q'), rate: 2, intervalSeconds: 10, blockSeconds: 0, ...more }, clock)
    return { clock, take: (address = '1.1.1.1') => limiter.take(address) }
  }

  it('a rate limiter allows the rate in each interval, which begins with the first request of the client', async () => {
    const { clock, take } = start()
    const headers = (remaining: number, reset: number) => ({
      'X-Ratelimit-Limit': '2',
      'X-Ratelimit-Remaining': String(remaining),
      'X-Ratelimit-Reset': String(reset),
    })
    expect(take()).toEqual({ isAllowed: true, headers: headers(1, 10) })
    await clock.advance(4500)
    expect(take()).toEqual({ isAllowed: true, headers: headers(0, 5) })
    expect(take()).toEqual({ isAllowed: false, headers: { ...headers(0, 5), 'Retry-After': '5' } })
    expect(take('2.2.2.2').isAllowed).toBe(true)
    await clock.advance(5500)
    expect(take()).toEqual({ isAllowed: true, headers: headers(1, 10) })
    await clock.advance(25_000)
    expect(take()).toEqual({ isAllowed: true, headers: headers(1, 5) })
  })

  it('a rate limiter blocks a client that exceeds the rate for the block interval', async () => {
    const { clock, take } = start({ blockSeconds: 60 })
    for (const isAllowed of [true, true, false]) expect(take().isAllowed).toBe(isAllowed)
    await clock.advance(20_000)
    expect(take()).toEqual({ isAllowed: false, headers: { 'Retry-After': '40' } })
    expect(take('2.2.2.2').isAllowed).toBe(true)
    await clock.advance(40_000)
    expect(take().isAllowed).toBe(true)
  })

  it('a rate limiter allows at least one request in each interval', () => {
    const { take } = start({ rate: 0.2 })
    expect([take(), take()].map(({ isAllowed }) => isAllowed)).toEqual([true, false])
  })
})
