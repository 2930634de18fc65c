import type { NamespaceRef } from '../../logical/request.js'
import type { Acl } from '../acl/acl.js'
import type { IdentityStore } from '../identity/identity.js'
import type { PolicyStore } from '../acl/policies.js'

/** Returns the access rules of a token, from its own policies and those of its entity. */
export const aclOf = (
  token: { readonly policies: readonly string[]; readonly namespace: NamespaceRef; readonly entityId: string },
  { policies, identity }: { readonly policies: PolicyStore; readonly identity: IdentityStore },
): Acl => {
  const names = [...token.policies, ...identity.policiesOf(token)]
  return policies.aclFor(names, token.namespace, identity.findEntity(token.entityId))
}
