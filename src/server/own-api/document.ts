import type { JsonObject } from '../../logical/json.js'
import { KEEPER_OPERATIONS } from './keeper-operations.js'
import type { Described, OwnOperation } from './operation.js'
import { SERVER_OPERATIONS } from './server-operations.js'

/** The root of the paths at which a server serves its own API. */
const OWN_ROOT = '/_understudy/v1'

const JSON_TYPE = 'application/json'

/** The OpenAPI document of everything that is ours: of a server, and of the keeper of a lab. */
export const describeOwnApi = (version: string): JsonObject => ({
  openapi: '3.1.0',
  info: {
    title: 'Understudy: endpoints of its own',
    version,
    description:
      'Those below /_understudy/v1 are of every server. The others are of the keeper of a lab, on the socket that is named in lab.json.',
  },
  paths: { ...pathsOf(SERVER_OPERATIONS, OWN_ROOT, 'server'), ...pathsOf(KEEPER_OPERATIONS, '', 'keeper') },
  components: {
    securitySchemes: { labToken: { type: 'apiKey', in: 'header', name: 'X-Understudy-Token' } },
    schemas: {
      Errors: {
        type: 'object',
        properties: { errors: { type: 'array', items: { type: 'string' } } },
        required: ['errors'],
      },
    },
  },
})

const pathsOf = (
  operations: Readonly<Record<string, OwnOperation>>,
  root: string,
  tag: 'server' | 'keeper',
): JsonObject => {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const [name, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = name.split(' ')
    const place = `${root}/${path}`
    paths[place] = { ...paths[place], [method.toLowerCase()]: describeOperation(operation, path, tag) }
  }
  return paths
}

const describeOperation = (operation: OwnOperation, path: string, tag: 'server' | 'keeper'): JsonObject => ({
  tags: [tag],
  summary: operation.summary,
  ...(tag === 'keeper' ? { servers: [{ url: 'http://keeper', description: 'the unix socket of a lab' }] } : {}),
  ...(operation.isLabOnly ? { security: [{}, { labToken: [] }] } : {}),
  ...parametersOf(operation, path),
  ...(operation.body ? { requestBody: { required: true, content: contentOf(operation.body) } } : {}),
  responses: {
    ...answerOf(operation),
    default: {
      description: 'refused, with the reason',
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

const answerOf = ({ answer }: OwnOperation): JsonObject => {
  if (answer === undefined) return { '204': { description: 'done' } }
  if (answer === 'text')
    return { '200': { description: 'text', content: { 'text/plain': { schema: { type: 'string' } } } } }
  return { '200': { description: 'the answer', content: contentOf(answer) } }
}

const contentOf = ({ schema, example }: Described): JsonObject => ({ [JSON_TYPE]: { schema, example } })

/** The answer of `GET /_understudy/v1/`: the operations that are there now, and where all of them are described. */
export const listOwnApi = (isThere: (operation: OwnOperation) => boolean): JsonObject => ({
  description: `${OWN_ROOT}/openapi.json`,
  endpoints: Object.entries<OwnOperation>(SERVER_OPERATIONS)
    .filter(([, operation]) => isThere(operation))
    .map(([name, { summary }]) => {
      const [method = '', path = ''] = name.split(' ')
      return { method, path: `${OWN_ROOT}/${path}`, summary }
    }),
})
