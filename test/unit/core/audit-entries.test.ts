import { beforeEach, describe, expect, it } from 'vitest'
import type { AuditResponseEntry } from '../../../src/core/audit/audit-entry.js'
import { LogicalError, permissionDenied } from '../../../src/logical/errors.js'
import { LIMITS } from '../../../src/base/limits.js'
import { sha256Hex } from '../../../src/crypto/digest.js'
import { RawJson, RawNumber } from '../../../src/base/json.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { printJson } from '../../../src/base/json-print.js'
import { createAudit, sampleEntry } from '../../support/audit-samples.js'
import { makeRequest } from '../../support/backend-harness.js'

type Line = {
  auth: Record<string, unknown>
  request: Record<string, unknown>
  response: Record<string, unknown>
  [key: string]: unknown
}

describe('entries of an audit device', () => {
  let made: ReturnType<typeof createAudit>
  beforeEach(() => {
    made = createAudit()
  })

  const hash = (text: string) => made.audit.findHash('d', text)
  const last = (): Line => JSON.parse(made.lines.at(-1) ?? '')
  const requestLine = async (more: Partial<AuditResponseEntry> = {}, options: Record<string, string> = {}) => {
    await made.enable('d', { file_path: 'stdout', ...options })
    await made.audit.logRequest(sampleEntry(more))
    return last()
  }
  const responseLine = async (
    response: AuditResponseEntry['response'],
    more: Partial<AuditResponseEntry> = {},
    options: Record<string, string> = {},
  ) => {
    await made.enable('d', { file_path: 'stdout', ...options })
    await made.audit.logResponse(sampleEntry(more, response))
    return last()
  }

  it('an audit entry describes a request in full', async () => {
    expect(await requestLine()).toEqual({
      time: '2023-11-14T22:13:20.000Z',
      type: 'request',
      auth: {
        client_token: hash('hvs.presented'),
        accessor: hash('accessor-1'),
        display_name: 'approle',
        policies: ['default', 'dev'],
        token_policies: ['default', 'dev'],
        policy_results: { allowed: true, granting_policies: [{ name: 'dev', namespace_id: 'root', type: 'acl' }] },
        metadata: { role_name: 'dev' },
        entity_id: 'entity-1',
        token_type: 'service',
        token_ttl: 3600,
        token_issue_time: '2023-11-14T22:13:20.000Z',
      },
      request: {
        id: 'request-id',
        client_id: 'entity-1',
        operation: 'update',
        mount_point: 'kv/',
        mount_type: 'kv',
        mount_accessor: 'kv_1',
        mount_class: 'secret',
        client_token: hash('hvs.presented'),
        client_token_accessor: hash('accessor-1'),
        namespace: { id: 'root' },
        path: 'kv/a',
        data: {
          word: hash('swordfish'),
          count: 7,
          flag: true,
          none: null,
          deep: { list: [hash('one'), 2] },
        },
        remote_address: '127.0.0.1',
        remote_port: 40_000,
      },
    })
  })

  it('audit entries pair request and response by the request ID', async () => {
    const request = await requestLine()
    await made.audit.logResponse(sampleEntry({}, { data: { k: 'v' } }))
    expect(last().type).toBe('response')
    expect(last().request.id).toBe(request.request.id)
  })

  it('an audit entry hashes every string of a response, including nested and raw text', async () => {
    const line = await responseLine({
      data: { data: new RawJson('{"k":"swordfish","n":1.50}'), metadata: { version: 1 } },
    })
    expect(line.response.data).toEqual({ data: { k: hash('swordfish'), n: 1.5 }, metadata: { version: 1 } })
    expect(made.lines[0]).toContain('1.50')
    expect(made.lines[0]).not.toContain('swordfish')
  })

  it('an audit entry shows the keys in plain text that the mount lists', async () => {
    const base = sampleEntry().mount
    if (!base) throw new Error('the sample has a mount')
    const config = {
      ...base.entry.config,
      auditNonHmacRequestKeys: ['word', 'list'],
      auditNonHmacResponseKeys: ['shown'],
    }
    const mount = { ...base, entry: { ...base.entry, config } }
    const line = await responseLine({ data: { shown: 'plain', word: 'hidden' } }, { mount })
    expect(line.request.data).toMatchObject({ word: 'swordfish', deep: { list: ['one', 2] } })
    expect(line.response.data).toEqual({ shown: 'plain', word: hash('hidden') })
  })

  it('an audit entry with log_raw shows everything', async () => {
    const line = await requestLine({}, { log_raw: 'true' })
    expect(line.auth).toMatchObject({ client_token: 'hvs.presented', accessor: 'accessor-1' })
    expect(line.request.data).toMatchObject({ word: 'swordfish' })
  })

  it('an audit entry without hmac_accessor shows only accessors in plain text', async () => {
    const line = await requestLine({}, { hmac_accessor: 'false' })
    expect(line.auth).toMatchObject({ client_token: hash('hvs.presented'), accessor: 'accessor-1' })
    expect(line.request.client_token_accessor).toBe('accessor-1')
  })

  it('an audit entry describes the token of a login, with plain metadata', async () => {
    const line = await responseLine(
      {
        auth: {
          clientToken: 'hvs.new',
          accessor: 'accessor-2',
          policies: ['default'],
          tokenPolicies: ['default'],
          identityPolicies: [],
          metadata: { role_name: 'dev' },
          leaseDurationSeconds: 60,
          renewable: true,
          entityId: 'entity-2',
          tokenType: 'service',
          orphan: true,
          numUses: 0,
        },
      },
      { token: undefined, verdict: undefined, request: makeRequest('update', 'auth/approle/login', { role_id: 'r' }) },
    )
    expect(line.response.auth).toMatchObject({
      client_token: hash('hvs.new'),
      accessor: hash('accessor-2'),
      metadata: { role_name: 'dev' },
      token_ttl: 60,
    })
    expect(line.auth).toMatchObject({ client_token: hash('hvs.new'), policy_results: { allowed: true } })
    expect(line.request.data).toEqual({ role_id: hash('r') })
  })

  it('an audit entry hashes wrapping tokens and the wrapped accessor', async () => {
    const line = await responseLine({
      wrapInfo: {
        token: 'hvs.wrap',
        accessor: 'accessor-3',
        ttlSeconds: 60,
        creationTime: '2023-11-14T22:13:20Z',
        creationPath: 'kv/a',
        wrappedAccessor: 'accessor-4',
      },
    })
    expect(line.response.wrap_info).toEqual({
      ttl: 60,
      token: hash('hvs.wrap'),
      accessor: hash('accessor-3'),
      creation_time: '2023-11-14T22:13:20Z',
      creation_path: 'kv/a',
      wrapped_accessor: hash('accessor-4'),
    })
  })

  it.each([
    ['a million empty strings', { list: Array.from({ length: 1_000_000 }, () => '') }],
    ['many names', Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, 1]))],
    ['a stored document', { doc: new RawJson(`[${'"",'.repeat(400_000)}""]`) }],
    ['a stored document of moderate size', { doc: new RawJson(`[${'"",'.repeat(100_000)}""]`) }],
    ['long numbers', { n: new RawNumber(`1${'0'.repeat(200_000)}`) }],
  ])('an audit entry of large data stays small and says so: %s', async (_, data) => {
    const request = makeRequest('update', 'kv/a', data as unknown as JsonObject)
    const line = await responseLine({ data, warnings: ['w'.repeat(1_000_000)] }, { request })
    const text = printJson(data)
    const omitted = { sha256: hash(sha256Hex(text)), bytes: Buffer.byteLength(text) }
    expect(line.request.data).toBeUndefined()
    expect(line.request.data_omitted).toEqual(omitted)
    expect(line.response.data_omitted).toEqual(omitted)
    expect(line.response.warnings).toEqual([expect.stringMatching(/w\.\.\. \(1000000 characters\)$/)])
    expect(made.lines[0]?.length).toBeLessThan(10_000)
  })

  it('an audit entry never exceeds its maximum size', async () => {
    await made.enable('d', { file_path: 'stdout' })
    const sizes: number[] = []
    for (const strings of [500, 5_000, 20_000, 350_000]) {
      const request = makeRequest('update', 'kv/a', { list: Array.from({ length: strings }, () => '') })
      await made.audit.logRequest(sampleEntry({ request }))
      sizes.push(made.lines.at(-1)?.length ?? 0)
    }
    expect(Math.max(...sizes)).toBeLessThan(LIMITS.auditDataBytesMax + 2_000)
  })

  it('an audit entry shows a large single secret as one hash', async () => {
    const secret = 'x'.repeat(1_000_000)
    const line = await requestLine({ request: makeRequest('update', 'kv/a', { secret }) })
    expect(line.request.data).toEqual({ secret: hash(secret) })
  })

  it('an audit entry counts long lists first if lists are elided', async () => {
    const request = makeRequest('list', 'kv/')
    const keys = Array.from({ length: 100_000 }, (_, n) => `key-${n}`)
    const line = await responseLine({ data: { keys } }, { request }, { elide_list_responses: 'true' })
    expect(line.response.data).toEqual({ keys: 100_000 })
  })

  it('an audit entry shows warnings and lease IDs in plain text', async () => {
    const line = await responseLine({ warnings: ['beware'], leaseId: 'lease/1' })
    expect(line.response).toMatchObject({ warnings: ['beware'], secret: { lease_id: 'lease/1' } })
  })

  it('an audit entry with elide_list_responses replaces lists by their length', async () => {
    const request = makeRequest('list', 'kv/')
    const response = { data: { keys: ['a', 'b', 'c'], key_info: { a: {}, b: {} } } }
    const line = await responseLine(response, { request }, { elide_list_responses: 'true' })
    expect(line.response.data).toEqual({ keys: 3, key_info: 2 })
  })

  it('an audit entry with elide_list_responses keeps other responses complete', async () => {
    const line = await responseLine({ data: { keys: ['a'] } }, {}, { elide_list_responses: 'true' })
    expect(line.response.data).toEqual({ keys: [hash('a')] })
  })

  it('an audit entry of a rejected request states the denial and its reason', async () => {
    const verdict = { isAllowed: false, grantingPolicies: [] }
    const line = await requestLine({ verdict, error: permissionDenied() })
    expect(line.auth.policy_results).toEqual({ allowed: false })
    expect(line.error).toBe('1 error occurred:\n\t* permission denied\n\n')
  })

  it('an audit entry hashes an invalid token and grants it nothing', async () => {
    const error = new LogicalError(
      'permission-denied',
      '2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n',
    )
    const line = await requestLine({ token: undefined, verdict: undefined, error })
    expect(line.auth).toEqual({
      client_token: hash('hvs.presented'),
      policy_results: { allowed: false },
      token_type: 'default',
    })
    expect(line.error).toContain('invalid token')
  })

  it('an audit entry of an internal error contains no details', async () => {
    expect((await requestLine({ error: new Error('swordfish') })).error).toBe('internal error')
  })

  it.each([
    [0, undefined],
    [5, 5],
    [1, 1],
  ])('an audit entry shows the remaining uses before the request takes one: of %i %s', async (numUses, remaining) => {
    const { token } = sampleEntry()
    if (!token) throw new Error('the sample has a token')
    expect((await requestLine({ token: { ...token, numUses } })).auth.remaining_uses).toBe(remaining)
  })

  it('an audit line begins with the prefix of the device and ends with a line feed', async () => {
    await made.enable('d', { file_path: 'stdout', prefix: '@cee: ' })
    await made.audit.logRequest(sampleEntry())
    expect(made.lines[0]).toMatch(/^@cee: \{.*\}\n$/)
  })

  it('an audit entry shows only audited headers, hashed if configured', async () => {
    await made.audit.headers.set('X-Team', { hmac: false })
    await made.audit.headers.set('X-More', { hmac: true })
    const line = await requestLine()
    expect(line.request.headers).toEqual({ 'x-team': ['blue'], 'x-more': [hash('1'), hash('2')] })
    await made.audit.headers.set('x-team', undefined)
    await made.audit.logRequest(sampleEntry())
    expect(Object.keys(last().request.headers as object)).toEqual(['x-more'])
  })

  it('an audit entry names the namespace of the request', async () => {
    const namespace = { id: 'abcde', path: 'team/' }
    const line = await requestLine({ request: makeRequest('read', 'kv/a', {}, { namespace }) })
    expect(line.request.namespace).toEqual({ id: 'abcde', path: 'team/' })
  })
})
