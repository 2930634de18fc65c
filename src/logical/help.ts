import type { Backend, PathSpec } from './backend.js'
import { describeOperations } from './openapi.js'
import type { Response } from './request.js'

/** The answer to `?help=1`: what a path is for, its parameters, and its part of the OpenAPI document. */
export const describePath = (backend: Backend, spec: PathSpec): Response => {
  const parameters = Object.entries(spec.fields).map(
    ([name, { kind, description, isDeprecated }]) =>
      `    ${name} (${kind})${isDeprecated ? ' (deprecated)' : ''}\n        ${description}`,
  )
  const sections = [
    `Request:        ${spec.pattern}\nMatching Route: ${spec.pattern}`,
    spec.summary,
    ...(parameters.length > 0 ? [`## PARAMETERS\n\n${parameters.join('\n')}`] : []),
  ]
  return {
    bare: true,
    data: {
      help: `${sections.join('\n\n')}\n`,
      see_also: null,
      openapi: { openapi: '3.0.2', paths: describeOperations('', spec, backend) },
    },
  }
}

/** Help for a path that is none of the table, such as the mount itself: which paths there are. */
export const describeBackend = (backend: Backend): Response => {
  const rows = backend.paths.map(({ pattern, summary }) => `    ${pattern}\n        ${summary}`)
  return {
    bare: true,
    data: {
      help: `Paths of the ${backend.type} backend:\n\n${rows.join('\n')}\n`,
      see_also: null,
      openapi: {
        openapi: '3.0.2',
        paths: Object.assign({}, ...backend.paths.map((spec) => describeOperations('', spec, backend))),
      },
    },
  }
}
