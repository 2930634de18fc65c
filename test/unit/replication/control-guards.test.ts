import { expect, test } from 'vitest'
import {
  type Check,
  decideDemote,
  decideDisablePrimary,
  decideEnablePrimary,
  decideIssueToken,
  decideRevoke,
} from '../../../src/replication/roles/decide-primary.js'
import {
  checkBundle,
  decideDisableSecondary,
  decideEnableSecondary,
  decidePromote,
  decideUpdatePrimary,
  parseUpdateForm,
} from '../../../src/replication/roles/decide-secondary.js'
import type { Decision, Facts, SafetyFacts, Stage } from '../../../src/replication/model/machine.js'
import { findVersionObjection } from '../../../src/replication/model/version.js'

const facts = (dr: Stage, performance: Stage): Facts => ({ stages: { dr, performance } })
const reason = (decision: Decision | Check): string => (decision.ok ? '' : decision.reason)

const GATE = 'path disabled in replication DR secondary mode'

const ROLE_GUARDS: readonly (readonly [string, Decision, string])[] = [
  [
    'enable a primary twice',
    decideEnablePrimary('dr', facts('primary', 'disabled')),
    'cluster is already a DR primary',
  ],
  [
    'enable a performance primary twice',
    decideEnablePrimary('performance', facts('disabled', 'primary')),
    'cluster is already a performance primary',
  ],
  [
    'enable a primary on a secondary',
    decideEnablePrimary('performance', facts('primary', 'secondary')),
    'cluster is a performance secondary; promote it instead',
  ],
  [
    'enable a primary on a detached secondary',
    decideEnablePrimary('dr', facts('detached', 'disabled')),
    'cluster is a DR secondary; promote it instead',
  ],
  [
    'enable performance behind a DR secondary',
    decideEnablePrimary('performance', facts('secondary', 'disabled')),
    GATE,
  ],
  ['demote what is no primary', decideDemote('dr', facts('disabled', 'primary')), 'cluster is not a DR primary'],
  [
    'disable what is no primary',
    decideDisablePrimary('performance', facts('primary', 'secondary')),
    'cluster is not a performance primary',
  ],
  [
    'join twice',
    decideEnableSecondary('performance', facts('disabled', 'detached')),
    'performance replication is already enabled on this cluster',
  ],
  [
    'join DR with performance on',
    decideEnableSecondary('dr', facts('disabled', 'primary')),
    'performance replication must be disabled before this cluster can become a DR secondary',
  ],
  [
    'join performance as a DR primary',
    decideEnableSecondary('performance', facts('primary', 'disabled')),
    'disable DR replication first',
  ],
  [
    'disable what is no secondary',
    decideDisableSecondary('dr', facts('primary', 'disabled')),
    'cluster is not a DR secondary',
  ],
  [
    'update a primary',
    decideUpdatePrimary('performance', facts('disabled', 'primary'), 'token'),
    'cluster is not a performance secondary',
  ],
  [
    'update with both',
    decideUpdatePrimary('dr', facts('secondary', 'disabled'), 'both'),
    'token and update_primary_addrs are mutually exclusive',
  ],
  [
    'update with neither',
    decideUpdatePrimary('dr', facts('secondary', 'disabled'), 'neither'),
    'one of token or update_primary_addrs is required',
  ],
  [
    'update addresses without credentials',
    decideUpdatePrimary('dr', facts('detached', 'disabled'), 'addresses'),
    'update_primary_addrs needs existing credentials; use a token',
  ],
]

test.each(ROLE_GUARDS)('%s', (_, decision, text) => {
  expect(reason(decision)).toBe(text)
  expect(decision).toMatchObject({ code: 'invalid-request' })
})

test('an update needs exactly one of a token and a list of addresses', () => {
  expect(parseUpdateForm(undefined, [])).toBe('neither')
  expect(parseUpdateForm('', [])).toBe('blank')
  expect(parseUpdateForm('t', [])).toBe('token')
  expect(parseUpdateForm(undefined, ['a:1'])).toBe('addresses')
  expect(parseUpdateForm('', ['a:1'])).toBe('both')
})

const primary = facts('primary', 'disabled')
const request = { id: 'b', ttlSeconds: 1800, publicKey: 'none' } as const
const nobody = { taken: new Set<string>(), count: 0 }

test.each([
  ['no id', primary, { ...request, id: '' }, 'missing id'],
  ['no primary', facts('disabled', 'primary'), request, 'cluster is not a DR primary'],
  ['an id with a slash', primary, { ...request, id: 'a/b' }, 'invalid id'],
  ['an id that ends with a dot', primary, { ...request, id: 'a.' }, 'invalid id'],
  ['no time', primary, { ...request, ttlSeconds: 0 }, 'invalid ttl'],
  ['more than 768 hours', primary, { ...request, ttlSeconds: 768 * 3600 + 1 }, 'invalid ttl'],
  ['a bad key', primary, { ...request, publicKey: 'bad' as const }, 'invalid secondary_public_key'],
])('a token for %s is rejected', (_, at, asked, text) => {
  expect(reason(decideIssueToken('dr', at, asked, nobody))).toBe(text)
})

test('a token for an ID in use is rejected, and a token for a valid ID is issued', () => {
  const taken = { taken: new Set(['b']), count: 1 }
  const text = 'id "b" is already in use by a secondary; revoke it first'
  expect(reason(decideIssueToken('dr', primary, request, taken))).toBe(text)
  for (const id of ['b', 'dr-b', 'a.b-c_d', '0']) {
    expect(decideIssueToken('dr', primary, { ...request, id }, nobody)).toEqual({ ok: true })
  }
  expect(reason(decideRevoke('dr', primary, ''))).toBe('missing id')
})

test('a bundle must match kind and set, and belong to another cluster', () => {
  const bundle = { kind: 'dr', setId: 's', isOwn: false } as const
  expect(checkBundle('dr', 's', bundle)).toEqual({ ok: true })
  expect(checkBundle('dr', undefined, bundle)).toEqual({ ok: true })
  expect(reason(checkBundle('performance', 's', bundle))).toContain('token is for DR replication')
  expect(reason(checkBundle('dr', 'other', bundle))).toBe(
    'token belongs to another replication set; use secondary/enable',
  )
  expect(reason(checkBundle('dr', 's', { ...bundle, isOwn: true }))).toBe('a cluster cannot be its own secondary')
})

const SAFE: SafetyFacts = {
  isSyncComplete: true,
  streamState: 'stream-wals',
  isReindexing: false,
  appliedIndex: 7,
  announcedIndex: 7,
  isBehindEpoch: false,
  filter: undefined,
}

const IDLE: SafetyFacts = { ...SAFE, streamState: 'idle' }

test.each([
  ['the first sync', 'bootstrapping', SAFE],
  ['an incomplete sync', 'secondary', { ...SAFE, isSyncComplete: false }],
  ['another primary that nothing is applied of', 'secondary', { ...SAFE, isBehindEpoch: true }],
  ['a diff', 'secondary', { ...SAFE, streamState: 'merkle-diff' as const }],
  ['a sync', 'secondary', { ...SAFE, streamState: 'merkle-sync' as const }],
  ['a reindex', 'secondary', { ...SAFE, isReindexing: true }],
  ['entries not applied', 'secondary', { ...SAFE, announcedIndex: 8 }],
])('%s prevents a promotion without force', (_, stage, safety) => {
  const at = facts('disabled', stage as Stage)
  const refused = decidePromote('performance', at, safety, false)
  expect(refused).toMatchObject({ ok: false, code: 'unavailable' })
  expect(reason(refused)).toContain('replication is still catching up, try again later or provide the "force" argument')
  expect(decidePromote('performance', at, safety, true).ok).toBe(true)
})

test.each([
  ['a filter', 'secondary', { ...SAFE, filter: 'deny EU_data/' }],
  ['a filter that makes the sync incomplete', 'secondary', { ...SAFE, isSyncComplete: false, filter: 'deny EU_data/' }],
  ['entries not applied before the primary was forgotten', 'detached', { ...IDLE, announcedIndex: 8 }],
  ['a sync that nobody completes', 'detached', { ...IDLE, isSyncComplete: false }],
])('the error for %s, which waiting does not resolve, does not suggest a retry', (_, stage, safety) => {
  const refused = decidePromote('performance', facts('disabled', stage as Stage), safety, false)
  expect(refused).toMatchObject({ ok: false, code: 'unavailable' })
  expect(reason(refused)).toContain('to promote anyway, provide the "force" argument')
  expect(reason(refused)).not.toContain('try again later')
  expect(decidePromote('performance', facts('disabled', stage as Stage), safety, true).ok).toBe(true)
})

test('a promotion succeeds with complete data, even without a primary', () => {
  expect(decidePromote('dr', facts('secondary', 'primary'), SAFE, false).ok).toBe(true)
  expect(decidePromote('dr', facts('detached', 'primary'), { ...SAFE, streamState: 'idle' }, false).ok).toBe(true)
})

test('a secondary cannot have an older version than its primary', () => {
  expect(findVersionObjection('1.20.4+ent', '1.20.4')).toBeUndefined()
  expect(findVersionObjection('1.21.0+ent', '1.20.4+ent')).toBeUndefined()
  expect(findVersionObjection('1.9.10', '1.10.0')).toContain('older')
})
