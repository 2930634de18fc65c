import type { NamespaceRef } from '../../logical/request.js'
import type { Acl } from '../acl/acl.js'
import type { IdentityStore } from '../identity/identity.js'
import type { PolicyStore } from '../acl/policies.js'

/** The rights of a token: by its own policies and by those of the entity behind it. */
export const aclOf = (
  token: { readonly policies: readonly string[]; readonly namespace: NamespaceRef; readonly entityId: string },
  { policies, identity }: { readonly policies: PolicyStore; readonly identity: IdentityStore },
): Acl => {
  const names = [...token.policies, ...identity.policiesOf(token)]
  return policies.aclFor(names, token.namespace, identity.findEntity(token.entityId))
}
