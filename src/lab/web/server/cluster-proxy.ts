import type { RequestHandler } from 'express'
import { ApiUnreachable } from '../../../client/api-client.js'
import { type AnyLab, withAnonymousClient } from '../../model/cluster.js'
import { readBytes } from '../../daemon/json-server.js'
import { LabError } from '../../model/lab-error.js'
import { atReachableNode, type ClusterOfNodes } from '../../nodes/nodes.js'
import { READ_ONLY, Refusal } from './refusal.js'

/** The clusters to which the page forwards requests, and the permitted requests. */
export interface ProxiedLab {
  /** Returns the current lab. Throws a LabError if there is none. */
  readonly lab: () => AnyLab
  readonly isReadOnly: boolean
}

const PROXIED_PATH = /^\/_understudy\/v1\/clusters\/([^/]+)\/((?:_understudy\/)?v1)\/(.+)$/

/** The only forwarded Understudy endpoint. It is read-only, and requires a token of the cluster. */
const AUDIT = '_understudy/v1/audit'

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'DELETE'])

/**
 * The writes that a read-only page permits: login, logout and token lookup. Excludes logins on mounts with slashes,
 * because such a path could also name a user or role.
 */
const READ_ONLY_WRITES = /^auth\/(?:[^/]+\/login(?:\/[^/]+)?|token\/(?:revoke-self|lookup-accessor))$/

/** Response timeout in milliseconds. A role change responds only after it is complete. */
const ANSWER_MS = 60_000

/** Maximum size of a forwarded body: that of the largest secret of a cluster. */
const BODY_BYTES_MAX = 1024 * 1024

/** Request headers that are forwarded: token and namespace. */
const PASSED = ['x-vault-token', 'x-vault-namespace'] as const

/**
 * Forwards a request to the public API of a cluster, or to its audit endpoint. Forwards the token of the request, if
 * any, and never a token of the lab. Sends the response of the cluster, or 502 if it does not respond.
 */
export const proxyClusters =
  ({ lab, isReadOnly }: ProxiedLab): RequestHandler =>
  async (request, response) => {
    const { method, originalUrl } = request
    const [pathname = '', query = ''] = originalUrl.split('?', 2)
    const { name, root, path } = parseProxiedPath(pathname)
    if (!METHODS.has(method) || (root !== 'v1' && method !== 'GET'))
      throw new Refusal(405, `the method ${method} is not allowed`)
    if (isReadOnly && method !== 'GET' && !READ_ONLY_WRITES.test(path)) throw new Refusal(403, READ_ONLY)
    const raw = await readBytes(request, BODY_BYTES_MAX)
    const passed = PASSED.map((header) => [header, request.get(header)] as const)
    const headers = Object.fromEntries(
      passed.flatMap(([header, value]) => (value === undefined ? [] : [[header, value]])),
    )
    const call = { headers, query: Object.fromEntries(new URLSearchParams(query)), ...(raw.length > 0 ? { raw } : {}) }
    const cluster = await atReachableNode(findCluster(lab(), name))
    const answer = await withAnonymousClient(
      cluster,
      (client) => client.send(method, `/${root}/${path}`, call),
      ANSWER_MS,
    ).catch((error: unknown) => {
      throw error instanceof ApiUnreachable ? new Refusal(502, 'the cluster does not respond') : error
    })
    // Independent of the content type of the cluster, the browser must not render it as a page.
    const isJson = /^application\/json\b/.test(answer.headers['content-type'] ?? '')
    response
      .status(answer.status)
      .type(isJson ? 'application/json; charset=utf-8' : 'text/plain')
      .end(answer.bytes)
  }

const findCluster = (lab: AnyLab, name: string): ClusterOfNodes => {
  const found = (lab.clusters as readonly ClusterOfNodes[]).find((cluster) => cluster.name === name)
  if (!found)
    throw new LabError(
      'usage',
      `the lab has no cluster ${name}; it has ${lab.clusters.map((cluster) => cluster.name).join(', ')}`,
    )
  return found
}

interface ProxiedPath {
  readonly name: string
  /** `v1` or `_understudy/v1`. */
  readonly root: string
  readonly path: string
}

/** Parses the path of a forwarded request. Throws LabError `usage` if its decoded parts would name another path. */
const parseProxiedPath = (pathname: string): ProxiedPath => {
  const [, name, root = '', rest] = PROXIED_PATH.exec(pathname) ?? []
  const isForwarded = root === 'v1' || `${root}/${rest}` === AUDIT
  if (name === undefined || rest === undefined || !isForwarded) throw new LabError('usage', `there is no ${pathname}`)
  try {
    const path = rest.split('/').map(decodeURIComponent)
    if (!path.some((part) => part === '.' || part === '..' || part.includes('/')))
      return { name: decodeURIComponent(name), root, path: path.join('/') }
  } catch {
    // Rejected below.
  }
  throw new LabError('usage', 'the path is invalid: no part may be "." or "..", contain "/", or be encoded incorrectly')
}
