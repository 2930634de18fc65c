import type { IncomingRequest } from '../../../../src/logical/incoming.js'
import { type Operation, ROOT_NAMESPACE } from '../../../../src/logical/request.js'

/** A request as a client sends it to a standby. */
export const request = (operation: Operation): IncomingRequest => ({
  id: 'r1',
  operation,
  path: 'kv/it',
  namespace: ROOT_NAMESPACE,
  namespaceHeader: undefined,
  data: {},
  headers: {},
  remoteAddress: '10.0.0.9',
  remotePort: 1,
  clientToken: 'hvs.x',
  wrap: undefined,
  isHead: false,
})
