import { beforeEach, describe, expect, it } from 'vitest'
import { auditPaths } from '../../../src/core/system/audit-paths.js'
import { createAudit } from '../../support/audit-samples.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

describe('sys/audit', () => {
  let sys: BackendHarness
  beforeEach(() => {
    const { audit } = createAudit()
    sys = new BackendHarness(() => ({ type: 'system', paths: auditPaths({ audit }) }))
  })

  const enable = (name: string, more: Record<string, string | boolean> = {}) =>
    sys.write(`audit/${name}`, { type: 'file', options: { file_path: 'discard' }, ...more })

  it('sys/audit lists devices by path, also at the top level of the response', async () => {
    expect(dataOf(await sys.read('audit'))).toEqual({})
    expect(await enable('d1', { description: 'first' })).toBeUndefined()
    await sys.write('audit/d2', {
      type: 'file',
      local: true,
      options: { file_path: 'discard', log_raw: 'true', mode: '0600' },
    })
    const response = await sys.read('audit')
    expect(response?.mirror).toBe(true)
    expect(dataOf(response)).toEqual({
      'd1/': { description: 'first', local: false, options: { file_path: 'discard' }, path: 'd1/', type: 'file' },
      'd2/': {
        description: '',
        local: true,
        options: { file_path: 'discard', log_raw: 'true', mode: '0600' },
        path: 'd2/',
        type: 'file',
      },
    })
  })

  it('sys/audit rejects a path in use and an unknown type', async () => {
    await enable('d1')
    expect(await refusal(enable('d1'))).toEqual(['invalid-request', 'path already in use'])
    expect(await refusal(sys.write('audit/x', {}))).toEqual(['invalid-request', 'unknown backend type: ""'])
    expect(await refusal(sys.write('audit/x', { type: 'nosuch', options: {} }))).toEqual([
      'invalid-request',
      'unknown backend type: "nosuch"',
    ])
    expect(await refusal(sys.write('audit/x', { type: 'file' }))).toEqual(['invalid-request', 'file_path is required'])
  })

  it('sys/audit disables devices, including unknown ones', async () => {
    await enable('d1')
    expect(await sys.call('delete', 'audit/d1')).toBeUndefined()
    expect(await sys.call('delete', 'audit/d1')).toBeUndefined()
    expect(dataOf(await sys.read('audit'))).toEqual({})
  })

  it('sys/audit-hash returns the hash of a text', async () => {
    await enable('d1')
    const hash = async () => dataOf(await sys.write('audit-hash/d1', { input: 'secret' }))
    expect(await hash()).toEqual({ hash: expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/) })
    expect(await hash()).toEqual(await hash())
    expect(await refusal(sys.write('audit-hash/d1', {}))).toEqual(['invalid-request', 'the "input" parameter is empty'])
    expect(await refusal(sys.write('audit-hash/x', { input: 'secret' }))).toEqual([
      'invalid-request',
      'unknown audit backend "x/"',
    ])
  })

  it('sys/config/auditing stores the audited headers', async () => {
    const path = 'config/auditing/request-headers'
    expect(await sys.write(`${path}/X-Team`, { hmac: true })).toBeUndefined()
    expect(dataOf(await sys.read(`${path}/X-Team`))).toEqual({ 'X-Team': { hmac: true } })
    expect(dataOf(await sys.read(path))).toEqual({ headers: { 'x-team': { hmac: true } } })
    await sys.call('delete', `${path}/x-team`)
    expect(await refusal(sys.read(`${path}/x-team`))).toEqual(['invalid-request', 'Could not find header in config'])
    expect(dataOf(await sys.read(path))).toEqual({ headers: {} })
  })
})
