import type { NamespaceRef } from '../logical/request.js'
import type { NamespaceStore } from './namespaces.js'
import { namespaceIdOf } from './token-format.js'

/** What a token may ask about itself without being told where it is at home. */
const SELF_PATHS: ReadonlySet<string> = new Set(
  ['lookup-self', 'renew-self', 'revoke-self'].map((name) => `auth/token/${name}`),
)

/**
 * The namespace of a request for a token's own sake that names none: that in which the token was made, as its ending says.
 * Undefined for every other request; whether there is such a token is not asked.
 */
export const findHomeNamespace = (
  request: { readonly path: string; readonly clientToken: string | undefined },
  namespaces: Pick<NamespaceStore, 'findById'>,
): NamespaceRef | undefined =>
  request.clientToken !== undefined && SELF_PATHS.has(request.path)
    ? namespaces.findById(namespaceIdOf(request.clientToken))
    : undefined
