import type { IncomingRequest, Rendered, LabRequest } from '../../logical/incoming.js'
import type { ClusterNode } from '../nodes/cluster-node.js'
import type { Runtime } from '../runtime/runtime.js'
import type { RuntimeHost } from '../runtime/runtime-host.js'
import type { ShellView } from '../parts/parts.js'
import type { ClusterImages } from './cluster-images.js'
import type { LabState } from '../faults/disk-faults.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import { isIP } from 'node:net'
import { isSameSecret } from '../../crypto/constant-time.js'
import { sha256 } from '../../crypto/digest.js'
import { LogicalError, RESTARTING_REFUSAL, sealed } from '../../logical/errors.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'

/** The parts of a server that the lab endpoints read and change. */
export interface LabServer extends Pick<ShellView, 'status' | 'holds' | 'meter' | 'inFlight'> {
  readonly labState: LabState
  readonly images: ClusterImages
  readonly runtime: Runtime | undefined
  /** This node; undefined for a single-node cluster. */
  readonly node: Pick<ClusterNode, 'id' | 'state' | 'isServing'> | undefined
  readonly host: Pick<RuntimeHost, 'storageGeneration' | 'isPurgePending'>
  /** Executes a request as if a client had sent it over HTTP. */
  handle(request: IncomingRequest): Promise<Rendered>
  readonly feed: { open(): AsyncIterable<Buffer> }
}

/**
 * Describes a node. Its state is one of `server/nodes/SPEC.md`, or `removed`. Returns undefined for a single-node
 * cluster.
 */
export const describeNode = ({
  node,
  runtime,
  status,
}: Pick<LabServer, 'node' | 'runtime' | 'status'>): JsonObject | undefined =>
  node && {
    id: node.id,
    state: status.isRemoved ? 'removed' : node.state,
    is_active: node.isServing && !status.isRemoved,
    is_performance_standby: status.isPerformanceStandby && !status.isRemoved,
    applied_index: runtime?.appliedIndex ?? 0,
  }

/** Returns LogicalError 503: the data cannot be decrypted, because the cluster is sealed or is restarting. */
export const closed = ({ status }: Pick<LabServer, 'status'>): LogicalError =>
  status.isRestarting ? new LogicalError('unavailable', RESTARTING_REFUSAL) : sealed()

/** Throws a 403 error if the caller may not change this server. Without a token, only web pages are rejected. */
export const requireRight = (request: LabRequest, token: string): void => {
  if (token !== '' && !hasToken(request, token)) {
    throw denied('set the header X-Understudy-Token to the value of lab_api_token')
  } else if (token === '' && request.headers.origin !== undefined) {
    throw denied('web pages require a lab_api_token, which is not set')
  }
}

export const hasToken = ({ headers }: LabRequest, expected: string): boolean =>
  expected !== '' && isSameSecret(sha256(String(headers['x-understudy-token'] ?? '')), sha256(expected))

const denied = (reason: string): LogicalError => new LogicalError('permission-denied', `permission denied: ${reason}`)

/** Names of machines and containers that public DNS servers never resolve. */
const LOCAL_NAME = /^(?:[^.]+|.+\.(?:localhost|local|internal|svc|test|home\.arpa))\.?$/i

/**
 * Throws a 403 error if the Host header does not belong to this server, to prevent DNS rebinding by a web page. TLS
 * requests need no check, because a browser rejects a certificate for another name. `own` has the addresses of the
 * server as URLs.
 */
export const requireOwnHost = ({ headers: { host }, isTls }: LabRequest, own: readonly string[]): void => {
  if (host === undefined || isTls) return
  const name = hostnameOf(String(host))
  const isOwn =
    name !== '' &&
    (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || LOCAL_NAME.test(name) || own.some((url) => hostnameOf(url) === name))
  if (!isOwn)
    throw denied(
      `the Host header ${JSON.stringify(host)} does not name this server: use an address of this server, or set api_addr`,
    )
}

/**
 * Returns the host of an address in lower case. Scheme and port are optional. Returns an empty string for an invalid
 * address.
 */
const hostnameOf = (address: string): string =>
  /^(?:https?:\/\/)?(\[[\da-f:.]+\]|[^:/?#@\s]+)(?::\d+)?\/?$/i.exec(address)?.[1]?.toLowerCase() ?? ''

/** Replaces storage paths with empty strings, for callers that are not authorized to read them. */
export const hidePaths = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(hidePaths)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === 'path' ? '' : hidePaths(inner as JsonValue)]),
  )
}

/**
 * Resolves to the most recent audit lines of this server. To authorize the caller, reads `sys/audit` with the caller's
 * token, which is audited. Rejects with `LogicalError`: 403 if the token may not read `sys/audit`, and 503 if the read
 * fails.
 */
export const readOwnAudit = async (server: LabServer, request: LabRequest): Promise<JsonObject> => {
  const status = await statusOfAuditRead(server, request)
  if (status === 403) throw new LogicalError('permission-denied', 'permission denied')
  if (status !== 200) throw new LogicalError('unavailable', `cannot read sys/audit: status ${status}; try again later`)
  const { lines = [], kept = [] } = server.runtime?.cluster?.services.audit.tail() ?? {}
  return { kept: [...kept], lines: lines.map(({ path, text }) => ({ device: path, text })) }
}

/** Resolves to the HTTP status of a read of `sys/audit` with the request's token, or to 403 without a token. */
export const statusOfAuditRead = async (server: LabServer, request: LabRequest): Promise<number> =>
  textOf(request.headers['x-vault-token']) === undefined ? 403 : (await server.handle(devicesRead(request))).status

const devicesRead = ({ id, headers, remoteAddress, namespaceHeader }: LabRequest): IncomingRequest => ({
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
