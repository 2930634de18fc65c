import { expect, it } from 'vitest'
import { ApiUnreachable } from '../../../src/client/api-client.js'
import { findNotListening, nameUnreachable } from '../../../src/lab/requests/request-errors.js'

const B = { name: 'B', apiAddress: 'http://127.0.0.1:8210' }
const after = (cause: Error) => nameUnreachable(B, new ApiUnreachable('PUT', `${B.apiAddress}/v1/sys/x`, cause))

const refusal = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8210'), { code: 'ECONNREFUSED' })

it('a refused connection reads as a server that does not listen yet, and another failure does not', () => {
  const find = (cause: Error) => findNotListening(new ApiUnreachable('GET', `${B.apiAddress}/v1/sys/init`, cause))
  expect(find(refusal)).toBe('no server listens on http://127.0.0.1:8210 yet')
  expect(find(new Error('no answer within 10000 ms'))).toBeUndefined()
})

it('the error of a stopped server differs from that of a server that may have executed the request', () => {
  expect(String(after(refusal))).toMatch(/B does not respond .*; start it, because this operation requires it$/)
  expect(String(after(new Error('no answer within 10000 ms')))).toMatch(/the last request may still take effect$/)
  const other = new Error('other')
  expect(nameUnreachable(B, other)).toBe(other)
})
