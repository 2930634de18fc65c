import { describe, expect, it } from 'vitest'
import type { Backend } from '../../../src/logical/backend.js'
import { definePath } from '../../../src/logical/backend.js'
import { dispatch } from '../../../src/logical/dispatch.js'
import type { JsonObject } from '../../../src/logical/json.js'
import {
  applyRenamed,
  applyTokenFields,
  DEFAULT_TOKEN_SETTINGS,
  normalizePolicies,
  TOKEN_FIELDS,
  type TokenSettings,
  tokenFieldsData,
} from '../../../src/logical/token-fields.js'
import { EMPTY_TOKEN_FIELDS, makeRequest, refusal } from '../../support/backend-harness.js'

/** Returns the result of merging `body` into `current`. */
const apply = async (body: JsonObject, current: TokenSettings = DEFAULT_TOKEN_SETTINGS) => {
  let result: ReturnType<typeof applyTokenFields> | undefined
  const backend: Backend = {
    type: 'test',
    paths: [
      definePath('role', TOKEN_FIELDS, 'A role.', {
        update: (call) => {
          result = applyTokenFields(call, current)
          return undefined
        },
      }),
    ],
  }
  await dispatch(backend, makeRequest('update', 'role', body), 'role')
  if (!result) throw new Error('the handler did not run')
  return result
}

describe('token fields', () => {
  it('token fields are empty at first', () => {
    expect(tokenFieldsData(DEFAULT_TOKEN_SETTINGS)).toEqual(EMPTY_TOKEN_FIELDS)
  })

  it('token fields return the written values', async () => {
    const written = {
      token_bound_cidrs: ['10.0.0.0/8', '127.0.0.1'],
      token_explicit_max_ttl: 7200,
      token_max_ttl: 3600,
      token_no_default_policy: true,
      token_num_uses: 3,
      token_period: 60,
      token_policies: ['b', 'A', 'b'],
      token_ttl: 1800,
      token_type: 'service',
    }
    expect(tokenFieldsData((await apply(written)).settings)).toEqual(written)
  })

  it('token fields keep absent values, and reset values sent as zero', async () => {
    const { settings } = await apply({ token_ttl: '1h', token_num_uses: 3, token_policies: 'a,b' })
    const next = (await apply({ token_ttl: 0, token_policies: [] }, settings)).settings
    expect(next).toEqual({ ...settings, ttlSeconds: 0, policies: [] })
  })

  it.each([
    ['', 'default', []],
    ['default', 'default', []],
    ['service', 'service', []],
    ['batch', 'batch', []],
    ['default-service', 'service', ['default-service has no useful meaning; adjusting to service']],
    ['default-batch', 'batch', ['default-batch has no useful meaning; adjusting to batch']],
  ])('the token type %j is stored as %s', async (token_type, type, warnings) => {
    expect(await apply({ token_type })).toMatchObject({ settings: { type }, warnings })
  })

  it.each([
    [{ token_type: 'solid' }, `invalid 'token_type' value "solid"`],
    [{ token_type: 'constructor' }, `invalid 'token_type' value "constructor"`],
    [{ token_num_uses: -1 }, `'token_num_uses' cannot be negative`],
    [
      { token_type: 'batch', token_num_uses: 5 },
      `'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count`,
    ],
    [
      { token_type: 'batch', token_period: '5m' },
      `'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens`,
    ],
    [{ token_ttl: '2h', token_max_ttl: '1h' }, `'token_ttl' cannot be greater than 'token_max_ttl'`],
  ])('token fields reject %j', async (body, text) => {
    expect(await refusal(apply(body))).toEqual(['invalid-request', text])
  })

  it('token fields validate the merged record, not only the write', async () => {
    const { settings } = await apply({ token_num_uses: 5 })
    const [, text] = await refusal(apply({ token_type: 'batch' }, settings))
    expect(text).toContain('limited use count')
  })

  it('token fields reject invalid addresses, and normalize valid ones', async () => {
    const [, text] = await refusal(apply({ token_bound_cidrs: 'nowhere' }))
    expect(text).toMatch(/^error parsing address "nowhere": /)
    const { settings } = await apply({ token_bound_cidrs: '127.0.0.1/32, 127.0.0.1/16,2001:DB8::1/128' })
    expect(settings.boundCidrs).toEqual(['127.0.0.1', '127.0.0.1/16', '2001:db8::1'])
  })
})

describe('old and new names of one value', () => {
  const current = { value: 1, remembered: 1 }
  it.each([
    ['the old alone sets both', { old: 2, new: undefined }, { value: 2, remembered: 2 }],
    ['the new alone forgets the old', { old: undefined, new: 3 }, { value: 3, remembered: undefined }],
    ['of both the new one counts', { old: 2, new: 3 }, { value: 3, remembered: 3 }],
    ['neither changes nothing', { old: undefined, new: undefined }, current],
  ])('%s', (_, sent, expected) => {
    expect(applyRenamed(sent, current)).toEqual(expected)
  })
})

describe('policies by their old name', () => {
  it('policies are folded, sorted and unique', () => {
    expect(normalizePolicies([' B', 'a', 'A', '', 'b '])).toEqual(['a', 'b'])
  })
  it('the policy root replaces all other policies', () => {
    expect(normalizePolicies(['a', 'Root'])).toEqual(['root'])
  })
})
