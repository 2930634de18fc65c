import type { Backend, Call, Handler, PathSpec } from './backend.js'
import { answersEmptyList, hasBody } from './envelope.js'
import { LogicalError, unsupportedOperation, unsupportedPath } from './errors.js'
import { type FieldValues, readFields } from './field-values.js'
import type { FieldTable, Values } from './fields.js'
import { type PathMatch, type PathRow, tableOf } from './path-table.js'
import type { Operation, Request, Response } from './request.js'
import { describeOperations } from './openapi.js'

/**
 * Finds the row of `path`, which is relative to the mount, and the captured values. Ignores the operations of the row.
 */
export const findPath = (
  backend: Backend,
  path: string,
): { spec: PathSpec; captured: Record<string, string> } | undefined => {
  const match = tableOf(backend).find(path)
  return match && { spec: match.row.spec, captured: { ...match.captured } }
}

/**
 * Returns `create` if the existence check of the path finds no value, otherwise `update`. A path without a check is an
 * `update`. Throws if a field has the wrong type. As in Vault, the text of this error does not start with `Field
 * validation failed`.
 */
export const decideWriteOperation = (backend: Backend, request: Request, path: string): 'create' | 'update' => {
  const match = tableOf(backend).find(path)
  const exists = match?.row.spec.exists
  if (!match || !exists) return 'update'
  return exists(callOf(match.row, read(match, request, ''), request, path)) ? 'update' : 'create'
}

/**
 * Executes a request on the backend of its mount. `path` is relative to the mount. Returns undefined for an empty
 * response: 204, or 404 for a read or a list. A list without keys is also empty. Adds warnings about parameters to a
 * response with a body. Rejects with LogicalError `unsupported-path`, `unsupported-operation`, or the error of an
 * oversized body.
 */
export const dispatch = async (backend: Backend, request: Request, path: string): Promise<Response | undefined> => {
  if (request.bodyRefusal) throw request.bodyRefusal
  const isList = request.operation === 'list'
  const match = find(backend, path, isList)
  if (request.operation === 'help') return match ? describePath(backend, match.row.spec) : describeBackend(backend)
  if (!match) {
    const response = backend.fallback?.(request, path)
    if (response) return response
    throw unsupportedPath()
  }
  const { row } = match
  const handler = handlerOf(row.spec, request.operation)
  if (!handler) throw row.spec.isOldest ? new LogicalError('unsupported-operation', '') : unsupportedOperation()
  const fields = read(match, request, fieldErrorPrefix(row.spec, request.operation))
  const folder = isList && path.endsWith('/') ? path.slice(0, -1) : path
  const response = await handler(callOf(row, fields, request, folder))
  if (!response || (isList && answersEmptyList(response))) return undefined
  if (row.spec.mirror) response.mirror = true
  return withParameterWarnings(response, fields, row.spec, request.operation)
}

const find = (backend: Backend, path: string, isList: boolean): PathMatch | undefined => {
  const table = tableOf(backend)
  const match = table.find(path)
  if (!isList || !path.endsWith('/')) return match
  const found = match ?? table.find(path.slice(0, -1), { isList: true })
  return found && { row: found.row, captured: withoutFolderSlash(found.captured) }
}

/** Removes the trailing slash of a list path from the captured values. */
const withoutFolderSlash = (captured: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const trimmed: Record<string, string> = {}
  for (const [name, text] of Object.entries(captured)) trimmed[name] = text.endsWith('/') ? text.slice(0, -1) : text
  return trimmed
}

const handlerOf = ({ operations, exists }: PathSpec, operation: Operation): Handler<FieldTable> | undefined => {
  if (operation === 'create') return operations.create ?? operations.update
  if (operation === 'update') return operations.update ?? (exists ? undefined : operations.create)
  return operations[operation]
}

/**
 * Returns the prefix of the error for an invalid field. Errors of the existence check, which validates the fields
 * first, have no prefix.
 */
const fieldErrorPrefix = (spec: PathSpec, operation: Operation): string =>
  spec.exists && (operation === 'create' || operation === 'update') ? '' : 'Field validation failed: '

const read = ({ row, captured }: PathMatch, request: Request, prefix: string): FieldValues =>
  readFields(row.fields, request.data, captured, prefix)

const callOf = ({ spec }: PathRow, { values, supplied }: FieldValues, request: Request, path: string): Call => ({
  request,
  values: values as Values<typeof spec.fields>,
  supplied: (name) => supplied.has(name),
  path,
})

const isWrite = (operation: Operation): boolean =>
  operation === 'create' || operation === 'update' || operation === 'patch'

const withParameterWarnings = (
  response: Response,
  { unknown, replaced }: FieldValues,
  spec: PathSpec,
  operation: Operation,
): Response => {
  const hasUnknown = unknown.length > 0 && !(spec.takesAnyField && isWrite(operation))
  if ((!hasUnknown && replaced.length === 0) || !hasBody(response)) return response
  const warnings = [...(response.warnings ?? [])]
  if (hasUnknown) {
    warnings.push(`Endpoint ignored these unrecognized parameters: [${[...unknown].sort().join(' ')}]`)
  }
  if (replaced.length > 0) {
    warnings.push(
      `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${[...replaced].sort().join(' ')}]`,
    )
  }
  response.warnings = warnings
  return response
}

/** Returns the response to `?help=1`: the summary of the path, its parameters and its part of the OpenAPI document. */
const describePath = (backend: Backend, spec: PathSpec): Response => {
  const parameters = Object.entries(spec.fields).map(
    ([name, { kind, description, isDeprecated }]) =>
      `    ${name} (${kind})${isDeprecated ? ' (deprecated)' : ''}\n        ${description}`,
  )
  const sections = [
    `Request:        ${spec.pattern}\nMatching Route: ${spec.pattern}`,
    spec.summary,
    ...(parameters.length > 0 ? [`## PARAMETERS\n\n${parameters.join('\n')}`] : []),
  ]
  return help(`${sections.join('\n\n')}\n`, backend, [spec])
}

/** Returns the help for a path outside the table, such as the mount itself: a list of all paths. */
const describeBackend = (backend: Backend): Response => {
  const rows = backend.paths.map(({ pattern, summary }) => `    ${pattern}\n        ${summary}`)
  return help(`Paths of the ${backend.type} backend:\n\n${rows.join('\n')}\n`, backend, backend.paths)
}

const help = (text: string, backend: Backend, specs: readonly PathSpec[]): Response => {
  const paths = Object.assign({}, ...specs.map((spec) => describeOperations('', spec, backend)))
  return { bare: true, data: { help: text, see_also: null, openapi: { openapi: '3.0.2', paths } } }
}
