import { expect, it } from 'vitest'
import { ApiUnreachable } from '../../../src/client/api-client.js'
import { nameUnreachable } from '../../../src/lab/requests/request-errors.js'

const B = { name: 'B', apiAddress: 'http://127.0.0.1:8210' }
const after = (cause: Error) => nameUnreachable(B, new ApiUnreachable('PUT', `${B.apiAddress}/v1/sys/x`, cause))

it('the error of a stopped server differs from that of a server that may have executed the request', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8210'), { code: 'ECONNREFUSED' })
  expect(String(after(refused))).toMatch(/B does not respond .*; this operation requires it: start it first$/)
  expect(String(after(new Error('no answer within 10000 ms')))).toMatch(/the last request may still take effect$/)
  const other = new Error('other')
  expect(nameUnreachable(B, other)).toBe(other)
})
