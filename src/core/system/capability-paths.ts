import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, invalidInList } from '../../logical/errors.js'
import { commaList, string } from '../../logical/fields.js'
import type { NamespaceRef, Response } from '../../logical/request.js'
import type { Acl } from '../acl/acl.js'

/** The access rules of a token, and the namespace that their paths are relative to. */
export interface TokenAcl {
  readonly acl: Acl
  readonly namespace: NamespaceRef
}

interface CapabilityPathDeps {
  /** Finds the access rules of a token. Returns undefined if the token is unknown, expired or revoked. */
  readonly aclForToken: (presented: string) => TokenAcl | undefined
  readonly aclForAccessor: (accessor: string) => TokenAcl | undefined
}

const PATHS = {
  path: commaList('Deprecated name of paths.', { isDeprecated: true }),
  paths: commaList('The paths to check.'),
}
const OF_TOKEN = { ...PATHS, token: string('The token to check.', '', { isSecret: true }) }
const OF_ACCESSOR = { ...PATHS, accessor: string('The accessor of the token to check.') }

/**
 * Creates the paths of sys/capabilities and its variants: a token's capabilities on paths, regardless of parameters and
 * wrapping TTLs.
 */
export const capabilityPaths = ({ aclForToken, aclForAccessor }: CapabilityPathDeps): PathSpec[] => [
  definePath('capabilities', OF_TOKEN, 'Read the capabilities of a token on paths.', {
    update: (call) => {
      const { token } = call.values
      const found = aclForToken(token)
      const shown = token === call.request.clientToken ? found : visible(call, found)
      return describe(call, shown, token === '' ? 'no token found' : 'invalid token')
    },
    mirror: true,
  }),
  definePath('capabilities-self', PATHS, 'Read the capabilities of the token of the request on paths.', {
    update: (call) => describe(call, aclForToken(call.request.clientToken ?? ''), 'invalid token'),
    mirror: true,
  }),
  definePath('capabilities-accessor', OF_ACCESSOR, 'Read the capabilities of a token on paths by its accessor.', {
    update: (call) => {
      if (call.values.accessor === '') throw invalid('missing accessor')
      return describe(call, visible(call, aclForAccessor(call.values.accessor)), 'invalid accessor')
    },
    mirror: true,
  }),
]

/**
 * Returns the access rules if the token is in the request's namespace or below it. Token lookups have the same limit.
 */
const visible = ({ request }: Call, found: TokenAcl | undefined): TokenAcl | undefined =>
  found?.namespace.path.startsWith(request.namespace.path) ? found : undefined

/**
 * Returns the capabilities by path. For a single path, the response also contains them as `capabilities`. Throws
 * LogicalError 400 if the request has no paths.
 */
const describe = (call: Call<typeof PATHS>, found: TokenAcl | undefined, refusal: string): Response => {
  const paths = call.supplied('paths') ? call.values.paths : call.values.path
  if (paths.length === 0) throw invalid('paths must be supplied')
  if (!found) throw invalidInList(refusal)
  const { acl, namespace } = found
  const data: Record<string, unknown> = Object.create(null)
  for (const path of paths) {
    const whole = call.request.namespace.path + path.replace(/^\/+/, '')
    data[path] = whole.startsWith(namespace.path) ? acl.capabilities(whole.slice(namespace.path.length)) : ['deny']
  }
  const [only] = paths
  if (paths.length === 1 && only !== undefined) data.capabilities = data[only]
  return { data }
}
