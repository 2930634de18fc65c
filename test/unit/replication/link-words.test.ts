import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { fromServiceError } from '../../../src/replication/rpc/grpc/status.js'

const failed = (code: status, details: string): ServiceError =>
  Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: new Metadata() })

test.each([
  [status.UNAVAILABLE, 'Failed to start HTTP/2 stream: the session has been destroyed', 'the connection was lost'],
  [status.INTERNAL, 'Received RST_STREAM with code 2', 'the connection was lost'],
  [status.DEADLINE_EXCEEDED, 'Deadline exceeded after 2.001s,LB pick: 0.001s', 'no response arrived in time'],
  [status.UNAVAILABLE, 'no such primary', 'no such primary'],
])('a link failure %i %j is described without library terms', (code, details, words) => {
  const error = failed(code, details)
  expect(fromServiceError(error)).toMatchObject({ message: words, cause: error })
})
