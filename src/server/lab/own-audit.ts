import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest, SideRequest } from '../../logical/incoming.js'
import type { JsonObject } from '../../logical/json.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'
import type { LabServer } from './lab-server.js'

/**
 * Returns the most recent audit lines of this server, to callers that may list its audit devices. Authorizes with a read of
 * `sys/audit` with the same token, which is audited, and throws its LogicalError.
 */
export const readOwnAudit = async (server: LabServer, request: SideRequest): Promise<JsonObject> => {
  const status = await statusOfAuditRead(server, request)
  if (status === 403) throw new LogicalError('permission-denied', 'permission denied')
  if (status !== 200) throw new LogicalError('unavailable', 'audit devices cannot be read now')
  const { lines = [], kept = [] } = server.runtime?.cluster?.services.audit.tail() ?? {}
  return { kept: [...kept], lines: lines.map(({ path, text }) => ({ device: path, text })) }
}

/** Returns the status of a read of `sys/audit` with the request's token; 403 without one. */
export const statusOfAuditRead = async (server: LabServer, request: SideRequest): Promise<number> =>
  textOf(request.headers['x-vault-token']) === undefined ? 403 : (await server.handle(devicesRead(request))).status

const devicesRead = ({ id, headers, remoteAddress, namespaceHeader }: SideRequest): IncomingRequest => ({
  id,
  operation: 'read',
  path: 'sys/audit',
  namespace: ROOT_NAMESPACE,
  namespaceHeader,
  data: Object.create(null) as JsonObject,
  headers: {},
  remoteAddress,
  remotePort: 0,
  clientToken: textOf(headers['x-vault-token']),
  wrap: undefined,
  isHead: false,
})

const textOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
