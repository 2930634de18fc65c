import type http from 'node:http'
import { ApiUnreachable } from '../../../client/api-client.js'
import { type AnyLab, withAnonymousClient } from '../../model/cluster.js'
import { readBytes } from '../../keeper/read-json.js'
import { LabError } from '../../model/lab-error.js'
import { atSpeaker, type ClusterOfNodes } from '../../nodes/nodes.js'
import { json, type Reply } from './reply.js'

/** To which clusters the page leads, and what may be asked of them. */
export interface Door {
  /** As the lab is now; throws a LabError where there is none. */
  readonly lab: () => AnyLab
  readonly isReadOnly: boolean
}

const PLACE = /^\/_understudy\/v1\/clusters\/([^/]+)\/((?:_understudy\/)?v1)\/(.+)$/

/** Of our own endpoints that of a server which asks for the token of the cluster, and is for reading. */
const OWN = '_understudy/v1/audit'

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'DELETE'])

/**
 * To find out who somebody is, to end that, and to look up a token changes nothing that is to be looked at. Of a method whose
 * mount has slashes nobody can tell a login from a user or a role of that name.
 */
const ALSO_READS = /^auth\/(?:[^/]+\/login(?:\/[^/]+)?|token\/(?:revoke-self|lookup-accessor))$/

/** A role change answers once it is done. */
const ANSWER_MS = 60_000

/** As much as the largest secret of a cluster. */
const BODY_BYTES_MAX = 1024 * 1024

/** What a cluster is told of a request: who asks, and where. */
const PASSED = ['x-vault-token', 'x-vault-namespace'] as const

export const isOfDoor = (pathname: string): boolean => pathname.startsWith('/_understudy/v1/clusters/')

/**
 * Hands a request on to the public API of a cluster, or to what it has for its page, as whoever sent it: with the token that came with it or with none, never
 * with one of ours. Answers as the cluster does, and with 502 where that gives no answer.
 */
export const answerDoor = async (door: Door, request: http.IncomingMessage, query: string): Promise<Reply> => {
  const { method = '', url = '' } = request
  try {
    const { name, root, path } = parsePlace(url.split('?', 1)[0] ?? '')
    if (!METHODS.has(method) || (root !== 'v1' && method !== 'GET')) return refuse(405, `there is no ${method} here`)
    if (door.isReadOnly && method !== 'GET' && !ALSO_READS.test(path))
      return refuse(403, 'this page is only to look at')
    const raw = await readBytes(request, BODY_BYTES_MAX)
    const headers = Object.fromEntries(PASSED.flatMap((header) => pairOf(header, request.headers[header])))
    const call = { headers, query: Object.fromEntries(new URLSearchParams(query)), ...(raw.length > 0 ? { raw } : {}) }
    const cluster = await atSpeaker(findCluster(door.lab(), name))
    const {
      status,
      headers: answered,
      bytes,
    } = await withAnonymousClient(cluster, (client) => client.send(method, `/${root}/${path}`, call), ANSWER_MS)
    // Whatever it says that it is, the browser is not to take it for a page.
    const type = /^application\/json\b/.test(answered['content-type'] ?? '') ? 'application/json' : 'text/plain'
    return { status, headers: { 'Content-Type': `${type}; charset=utf-8` }, body: bytes }
  } catch (error) {
    if (error instanceof LabError) return refuse(error.code === 'usage' ? 400 : 502, error.message)
    if (error instanceof ApiUnreachable) return refuse(502, 'the cluster does not answer')
    throw error
  }
}

const findCluster = (lab: AnyLab, name: string): ClusterOfNodes => {
  const found = (lab.clusters as readonly ClusterOfNodes[]).find((cluster) => cluster.name === name)
  if (!found) throw new LabError('usage', `the lab has no cluster ${name}`)
  return found
}

const pairOf = (name: string, value: string | string[] | undefined): [string, string][] =>
  typeof value === 'string' ? [[name, value]] : []

interface Place {
  readonly name: string
  /** `v1`, or that of our own endpoints. */
  readonly root: string
  readonly path: string
}

/** Throws a usage error for a path that would be another one once it is read again. */
const parsePlace = (pathname: string): Place => {
  const [, name, root = '', rest] = PLACE.exec(pathname) ?? []
  const isThere = root === 'v1' || `${root}/${rest}` === OWN
  if (name === undefined || rest === undefined || !isThere) throw new LabError('usage', `there is no ${pathname}`)
  try {
    const path = rest.split('/').map(decodeURIComponent)
    if (!path.some((part) => part === '.' || part === '..' || part.includes('/')))
      return { name: decodeURIComponent(name), root, path: path.join('/') }
  } catch {
    // Below: it is no path either.
  }
  throw new LabError('usage', 'this is no path')
}

const refuse = (status: number, text: string): Reply => json(status, { errors: [text] })
