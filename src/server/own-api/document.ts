import type { JsonObject } from '../../logical/json.js'
import { LAB_DAEMON_OPERATIONS, PAGE_OPERATIONS } from './lab-operations.js'
import { type Described, type OwnOperation, SERVER_OPERATIONS } from './server-operations.js'

const OWN_ROOT = '/_understudy/v1'

const JSON_TYPE = 'application/json'

/**
 * Returns the OpenAPI document of all Understudy-specific endpoints: those of a server, of a lab daemon, and of the
 * page of a lab.
 */
export const describeOwnApi = (version: string): JsonObject => ({
  openapi: '3.1.0',
  info: {
    title: 'Understudy-specific endpoints',
    version,
    description:
      'Tag "server": endpoints of every server, below /_understudy/v1. Tag "page": endpoints of "understudy web", below /_understudy/v1. Tag "lab-daemon": endpoints of the lab daemon, on the socket that lab.json names.',
  },
  paths: merge(
    pathsOf(SERVER_OPERATIONS, OWN_ROOT, 'server'),
    pathsOf(PAGE_OPERATIONS, OWN_ROOT, 'page'),
    pathsOf(LAB_DAEMON_OPERATIONS, '', 'lab-daemon'),
  ),
  components: {
    securitySchemes: {
      pageSession: { type: 'apiKey', in: 'cookie', name: 'understudy_page_PORT' },
      clusterToken: { type: 'apiKey', in: 'header', name: 'X-Vault-Token' },
      labToken: { type: 'apiKey', in: 'header', name: 'X-Understudy-Token' },
    },
    schemas: {
      Errors: {
        type: 'object',
        properties: { errors: { type: 'array', items: { type: 'string' } } },
        required: ['errors'],
      },
    },
  },
})

type Tag = 'server' | 'page' | 'lab-daemon'

/** Base URLs of APIs that another process serves. */
const OTHER_SERVERS: Readonly<Partial<Record<Tag, JsonObject>>> = {
  'lab-daemon': { url: 'http://lab-daemon', description: 'Unix socket of the lab daemon' },
  page: { url: 'http://127.0.0.1', description: 'address of "understudy web"' },
}

type Paths = Record<string, Record<string, JsonObject>>

/**
 * Merges tables of paths. If a path occurs twice, keeps its first description, adds the tags of both, and adds a note
 * about the second.
 */
const merge = (...parts: readonly Paths[]): Paths => {
  const paths: Paths = {}
  for (const [path, methods] of parts.flatMap((part) => Object.entries(part)))
    for (const [method, operation] of Object.entries(methods)) {
      const known = paths[path]?.[method]
      const both = known && {
        ...known,
        tags: [known.tags, operation.tags].flat() as string[],
        description: `With the tag "${String(operation.tags)}": ${String(operation.summary)}`,
      }
      paths[path] = { ...paths[path], [method]: both ?? operation }
    }
  return paths
}

const pathsOf = (operations: Readonly<Record<string, OwnOperation>>, root: string, tag: Tag): Paths => {
  const paths: Paths = {}
  for (const [name, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = name.split(' ')
    const fullPath = `${root}/${path}`
    paths[fullPath] = { ...paths[fullPath], [method.toLowerCase()]: describeOperation(operation, path, tag) }
  }
  return paths
}

const describeOperation = (operation: OwnOperation, path: string, tag: Tag): JsonObject => ({
  tags: [tag],
  summary: operation.summary,
  ...(OTHER_SERVERS[tag] ? { servers: [OTHER_SERVERS[tag]] } : {}),
  ...(tag === 'page' ? { security: [{ pageSession: [], ...(operation.asToken ? { clusterToken: [] } : {}) }] } : {}),
  ...(tag === 'server' && operation.asToken ? { security: [{ clusterToken: [] }] } : {}),
  ...(operation.isLabOnly ? { security: [{}, { labToken: [] }] } : {}),
  ...parametersOf(operation, path),
  ...(operation.body ? { requestBody: { required: true, content: contentOf(operation.body) } } : {}),
  responses: {
    ...answerOf(operation),
    default: {
      description: 'The request was rejected; the body contains the reason.',
      content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/Errors' } } },
    },
  },
})

const parametersOf = ({ query = [] }: OwnOperation, path: string): JsonObject => {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: name === 'id' ? 'integer' : 'string' },
  }))
  const inQuery = query.map(({ name, about, type }) => ({ name, in: 'query', description: about, schema: { type } }))
  return inPath.length + inQuery.length === 0 ? {} : { parameters: [...inPath, ...inQuery] }
}

const DONE = { '204': { description: 'done' } } as const

const answerOf = ({ answer, isAlsoEmpty }: OwnOperation): JsonObject => {
  if (answer === undefined) return DONE
  if (answer === 'text')
    return { '200': { description: 'text', content: { 'text/plain': { schema: { type: 'string' } } } } }
  if (answer === 'events')
    return {
      '200': {
        description: 'A stream of events that ends when the connection is closed.',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
    }
  return { '200': { description: 'the response', content: contentOf(answer) }, ...(isAlsoEmpty ? DONE : {}) }
}

const contentOf = ({ schema, example = {} }: Described): JsonObject => ({ [JSON_TYPE]: { schema, example } })

/** Returns the response of `GET /_understudy/v1/`: the available operations and the location of the document. */
export const listOwnApi = (isThere: (operation: OwnOperation) => boolean): JsonObject =>
  listOf(
    OWN_ROOT,
    Object.entries<OwnOperation>(SERVER_OPERATIONS).filter(([, operation]) => isThere(operation)),
  )

/**
 * Returns the response of `GET /` of a lab daemon. Omits operations on servers if no servers run in the process of the
 * daemon.
 */
export const listLabDaemonApi = (hasServers: boolean): JsonObject =>
  listOf(
    '',
    Object.entries<OwnOperation>(LAB_DAEMON_OPERATIONS).filter(([name]) => hasServers || !name.includes(' servers/')),
  )

const listOf = (root: string, operations: readonly (readonly [string, OwnOperation])[]): JsonObject => ({
  description: `${root}/openapi.json`,
  endpoints: operations.map(([name, { summary }]) => {
    const [method = '', path = ''] = name.split(' ')
    return { method, path: `${root}/${path}`, summary }
  }),
})
