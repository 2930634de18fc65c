import { describe, expect, it } from 'vitest'
import { renderError } from '../../../src/http/message/status-codes.js'
import { LogicalError, notFound, unsupportedPath } from '../../../src/logical/errors.js'

describe('an error', () => {
  it('an error is a text in a list, or an empty list', () => {
    expect(renderError(new LogicalError('invalid-request', 'missing secret_id'))).toMatchObject({
      status: 400,
      contentType: 'application/json',
      body: '{"errors":["missing secret_id"]}',
    })
    expect(renderError(unsupportedPath())).toMatchObject({
      status: 404,
      body: String.raw`{"errors":["1 error occurred:\n\t* unsupported path\n\n"]}`,
    })
    expect(renderError(notFound())).toMatchObject({ status: 404, body: '{"errors":[]}' })
  })

  it('an error carries data and headers beside its text', () => {
    const error = new LogicalError('invalid-request', 'no', { data: { a: 1 }, headers: { 'X-Vault-Index': 'i' } })
    expect(renderError(error)).toMatchObject({
      body: '{"errors":["no"],"data":{"a":1}}',
      headers: { 'X-Vault-Index': 'i' },
    })
  })

  it('an unexpected error tells the client nothing', () => {
    for (const error of [new Error('key is hvs.secret'), 'hvs.secret', undefined]) {
      expect(renderError(error)).toMatchObject({ status: 500, body: '{"errors":["internal error"]}' })
    }
  })
})
