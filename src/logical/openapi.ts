import type { Backend, PathSpec } from './backend.js'
import type { Field, FieldKind } from './fields.js'
import type { JsonValue } from './json.js'
import { rulesOf } from './path-rules.js'
import type { Operation } from './request.js'

/** A mount in the OpenAPI document. `path` is, for example, `secret/` or `auth/approle/`. */
export interface DescribedMount {
  readonly path: string
  readonly backend: Backend
}

/** Builds the OpenAPI 3 document from the path and field tables that also dispatch requests. */
export const openApiDocument = (version: string, mounts: readonly DescribedMount[]): Record<string, unknown> => ({
  openapi: '3.0.2',
  info: {
    title: 'Understudy',
    description: 'Every path below /v1/ that this server serves.',
    version,
  },
  paths: Object.assign(
    {},
    ...mounts.flatMap(({ path, backend }) => backend.paths.map((spec) => describeOperations(path, spec, backend))),
  ),
})

const VERBS: Record<Exclude<Operation, 'help'>, string> = {
  create: 'post',
  update: 'post',
  patch: 'patch',
  read: 'get',
  list: 'get',
  delete: 'delete',
}

/** Returns the path item of one path. Its key is the path with parameters in braces. */
export const describeOperations = (mountPath: string, spec: PathSpec, backend: Backend): Record<string, unknown> => {
  const pattern = spec.pattern.replace(/\/\?$/, '')
  const segments = pattern.split('/')
  const inPath = segments.filter(isCapture).map((segment) => segment.slice(1))
  const path = segments.map((segment) => (isCapture(segment) ? `{${segment.slice(1)}}` : segment)).join('/')
  const item: Record<string, unknown> = {
    description: spec.summary,
    parameters: inPath.map((name) => describeParameter(name, spec.fields[name], 'path')),
  }
  if (spec.operations.create || spec.exists) item['x-vault-createSupported'] = true
  const { access } = rulesOf(backend.rules, pattern)
  if (access === 'sudo') item['x-vault-sudo'] = true
  if (access === 'open') item['x-vault-unauthenticated'] = true
  for (const operation of Object.keys(VERBS) as Exclude<Operation, 'help'>[]) {
    if (spec.operations[operation]) item[VERBS[operation]] ??= describeOperation(operation, mountPath, spec, inPath)
  }
  return { [`/${mountPath}${path}`]: item }
}

const isCapture = (segment: string): boolean => segment.startsWith(':') || segment.startsWith('*')

const describeOperation = (
  operation: Exclude<Operation, 'help'>,
  mountPath: string,
  spec: PathSpec,
  inPath: readonly string[],
): Record<string, unknown> => {
  const others = Object.entries(spec.fields).filter(([name]) => !inPath.includes(name))
  const takesBody = VERBS[operation] === 'post' || operation === 'patch'
  const described: Record<string, unknown> = {
    summary: spec.summary,
    operationId: `${VERBS[operation]}-${mountPath}${spec.pattern}`.replace(/[^A-Za-z0-9]+/g, '-').replace(/-$/, ''),
    tags: [mountPath.split('/')[0] ?? ''],
    responses: { 200: { description: 'OK' }, 204: { description: 'No content' } },
  }
  if (takesBody && others.length > 0) described.requestBody = describeBody(operation, others)
  if (!takesBody) {
    described.parameters = [
      ...others.map(([name, field]) => describeParameter(name, field, 'query')),
      ...(operation === 'list' || spec.operations.list ? [LIST_PARAMETER] : []),
    ]
  }
  return described
}

const LIST_PARAMETER = {
  name: 'list',
  in: 'query',
  description: 'If `true`, lists the keys, like the verb LIST.',
  schema: { type: 'string' },
}

const describeBody = (operation: Operation, fields: readonly (readonly [string, Field<unknown>])[]) => {
  const required = fields.filter(([, field]) => field.isRequired).map(([name]) => name)
  const type = operation === 'patch' ? 'application/merge-patch+json' : 'application/json'
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, describeField(field)]))
  const schema = { type: 'object', properties, ...(required.length > 0 ? { required } : {}) }
  return { content: { [type]: { schema } } }
}

const describeParameter = (name: string, field: Field<unknown> | undefined, location: 'path' | 'query') => ({
  name,
  in: location,
  description: field?.description ?? '',
  ...(location === 'path' || field?.isRequired ? { required: true } : {}),
  ...(field?.isDeprecated ? { deprecated: true } : {}),
  schema: field ? SCHEMAS[field.kind] : { type: 'string' },
})

const describeField = (field: Field<unknown>): Record<string, unknown> => ({
  ...SCHEMAS[field.kind],
  description: field.description,
  ...(isShownDefault(field) ? { default: field.defaultValue } : {}),
  ...(field.isDeprecated ? { deprecated: true } : {}),
  ...(field.isSecret ? { 'x-vault-displayAttrs': { sensitive: true } } : {}),
})

/** Returns whether the document contains the default value of a field. Zero values are omitted. */
const isShownDefault = ({ defaultValue }: Field<unknown>): boolean =>
  defaultValue === true || (typeof defaultValue === 'number' && defaultValue !== 0) || isText(defaultValue)

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const SCHEMAS: Record<FieldKind, { readonly [key: string]: JsonValue }> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int: { type: 'integer' },
  float: { type: 'number', format: 'float' },
  duration: { type: 'integer', format: 'seconds' },
  'signed-duration': { type: 'integer', format: 'seconds' },
  'comma-list': { type: 'array', items: { type: 'string' } },
  'string-list': { type: 'array', items: { type: 'string' } },
  map: { type: 'object' },
  pairs: { type: 'object', additionalProperties: { type: 'string' } },
  any: {},
}
