import { describe, expect, it } from 'vitest'
import { renderAnswer, renderBody } from '../../../src/logical/envelope.js'
import { RawJson, RawNumber } from '../../../src/base/json.js'
import { storedJson } from '../../../src/logical/json.js'
import type { AuthAnswer, Response } from '../../../src/logical/request.js'

const ID = '0a1b2c3d-0000-1111-2222-333344445555'
const body = (response: Response) => JSON.parse(String(renderBody(ID, response).body))

const AUTH: AuthAnswer = {
  clientToken: 'hvs.x',
  accessor: 'acc',
  policies: ['default'],
  tokenPolicies: ['default'],
  identityPolicies: [],
  metadata: { role_name: 'web' },
  leaseDurationSeconds: 60,
  renewable: true,
  entityId: 'e',
  tokenType: 'service',
  orphan: true,
  numUses: 0,
}

describe('the envelope', () => {
  it('the envelope has all its keys in order, mount_type last', () => {
    const { status, contentType, body: text } = renderBody(ID, { data: { b: 1, a: 2 }, mountType: 'kv' })
    expect({ status, contentType }).toEqual({ status: 200, contentType: 'application/json' })
    expect(text).toBe(
      `{"request_id":"${ID}","lease_id":"","renewable":false,"lease_duration":0,"data":{"b":1,"a":2},"wrap_info":null,"warnings":null,"auth":null,"mount_type":"kv"}`,
    )
  })

  it('the envelope carries warnings without data as 200 with data null', () => {
    expect(renderBody(ID, { warnings: ['careful'] }).status).toBe(200)
    expect(body({ warnings: ['careful'] })).toMatchObject({ data: null, warnings: ['careful'] })
  })

  it('an empty response is 204 without an envelope', () => {
    expect(renderBody(ID, {})).toEqual({ status: 204, contentType: 'application/json', body: '', headers: {} })
    expect(renderBody(ID, { warnings: [], data: null })).toMatchObject({ status: 204, body: '' })
    expect(renderBody(ID, { status: 202 })).toMatchObject({ status: 202, body: '' })
  })

  it('the envelope keeps the status of the handler', () => {
    expect(renderBody(ID, { data: { error: 'gone' }, status: 404 })).toMatchObject({ status: 404 })
  })

  it('the envelope shows a login with token_policies and identity_policies only if there are some', () => {
    expect(body({ auth: AUTH }).auth).toEqual({
      client_token: 'hvs.x',
      accessor: 'acc',
      policies: ['default'],
      token_policies: ['default'],
      metadata: { role_name: 'web' },
      lease_duration: 60,
      renewable: true,
      entity_id: 'e',
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 0,
    })
    expect(body({ auth: { ...AUTH, tokenPolicies: [], identityPolicies: ['i'] } }).auth).toMatchObject({
      identity_policies: ['i'],
    })
    expect(Object.keys(body({ auth: { ...AUTH, tokenPolicies: [] } }).auth)).not.toContain('token_policies')
  })

  it('the envelope of a wrapped response hides its origin', () => {
    const wrapInfo = {
      token: 't',
      accessor: 'a',
      ttlSeconds: 60,
      creationTime: '2026-01-01T00:00:00Z',
      creationPath: 'secret/a',
      wrappedAccessor: '',
    }
    const shown = body({ wrapInfo, mountType: 'kv' })
    expect(shown).toMatchObject({ request_id: '', data: null, mount_type: '' })
    expect(shown.wrap_info).toEqual({
      token: 't',
      accessor: 'a',
      ttl: 60,
      creation_time: '2026-01-01T00:00:00Z',
      creation_path: 'secret/a',
    })
    expect(body({ wrapInfo: { ...wrapInfo, wrappedAccessor: 'w' } }).wrap_info.wrapped_accessor).toBe('w')
  })

  it('mirrored data repeats at the top level and never hides envelope keys', () => {
    const shown = body({ data: { keys: ['a'], data: 'mine', policies: [] }, mirror: true })
    expect(shown).toMatchObject({ keys: ['a'], policies: [], data: { data: 'mine' } })
    expect(body({ data: new RawJson('{"k":1.0}'), mirror: true })).toMatchObject({ k: 1, data: { k: 1 } })
  })

  it('the envelope passes raw documents and raw numbers on as text', () => {
    expect(renderBody(ID, { data: new RawJson('{"n": 1.50}') }).body).toContain('"data":{"n": 1.50},')
    expect(renderBody(ID, { data: { n: new RawNumber('10000000000000000001') } }).body).toContain(
      '{"n":10000000000000000001}',
    )
  })
})

describe('other bodies', () => {
  it('a response without an envelope is bare data or the raw body of the handler', () => {
    expect(renderBody(ID, { data: { sealed: true }, bare: true, status: 503 })).toMatchObject({
      status: 503,
      body: '{"sealed":true}',
    })
    expect(renderBody(ID, { raw: { contentType: 'text/plain', body: 'x' } })).toMatchObject({
      status: 200,
      contentType: 'text/plain',
      body: 'x',
    })
  })
})

describe('nothing to answer with', () => {
  const answer = (operation: 'read' | 'list' | 'update' | 'delete', response?: Response) =>
    renderAnswer({ id: ID, operation }, response)

  it('an empty response is 404 without errors for read and list, and 204 otherwise', () => {
    for (const operation of ['read', 'list'] as const) {
      expect(answer(operation)).toMatchObject({ status: 404, body: '{"errors":[]}' })
      expect(answer(operation, {})).toMatchObject({ status: 404, body: '{"errors":[]}' })
    }
    for (const operation of ['update', 'delete'] as const) expect(answer(operation)).toMatchObject({ status: 204 })
  })

  it('an empty response with its own status keeps it', () => {
    expect(answer('read', { status: 200 })).toMatchObject({ status: 200, body: '' })
  })
})

describe('an answer with a large document in it', () => {
  it('a response with a large document is the same as bytes and as text', () => {
    const text = JSON.stringify({ a: '\u4e2d'.repeat(100_000), n: 1 })
    const request = { id: 'the-id', operation: 'read' } as const
    const answer = (document: RawJson) => {
      const data = { data: document, metadata: { version: 3 } }
      return [
        renderAnswer(request, { data }),
        renderAnswer(request, { data: document, warnings: ['w'], leaseDurationSeconds: 7 }),
        renderAnswer(request, { data: document, bare: true }),
        renderAnswer(request, { data, mirror: true }),
      ].map(({ body, ...rest }) => ({ ...rest, body: String(body) }))
    }
    const large = storedJson(Buffer.from(text))
    expect(Buffer.isBuffer(large.source)).toBe(true)
    expect(answer(large)).toEqual(answer(new RawJson(text)))
  })
})
