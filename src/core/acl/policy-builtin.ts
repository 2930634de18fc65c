/** Built-in policies. */

export const ROOT_POLICY = 'root'
export const DEFAULT_POLICY = 'default'
export const WRAPPING_POLICY = 'response-wrapping'

/** The policy of wrapping tokens. It is never listed and cannot be changed. */
export const WRAPPING_POLICY_TEXT = `
path "cubbyhole/response" {
  capabilities = ["create", "read"]
}

path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}
`

/** The initial text of `default`, which every token has unless it opts out. It can be edited but not deleted. */
export const DEFAULT_POLICY_TEXT = `# Permissions of every token, unless the token was created without this policy.

# Look up, renew and revoke the token itself.
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
path "auth/token/revoke-self" {
  capabilities = ["update"]
}

# Read the capabilities of the token itself.
path "sys/capabilities-self" {
  capabilities = ["update"]
}
path "sys/internal/ui/resultant-acl" {
  capabilities = ["read"]
}

# Read the entity of the token, and authorize OIDC clients.
path "identity/entity/id/{{identity.entity.id}}" {
  capabilities = ["read"]
}
path "identity/entity/name/{{identity.entity.name}}" {
  capabilities = ["read"]
}
path "identity/oidc/provider/+/authorize" {
  capabilities = ["read", "update"]
}

# Look up and renew leases by ID, at the current path and at the old path.
path "sys/leases/lookup" {
  capabilities = ["update"]
}
path "sys/leases/renew" {
  capabilities = ["update"]
}
path "sys/renew" {
  capabilities = ["update"]
}

# Store data in the cubbyhole of the token.
path "cubbyhole/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}

# Wrap data, and look up and unwrap wrapping tokens.
path "sys/wrapping/wrap" {
  capabilities = ["update"]
}
path "sys/wrapping/lookup" {
  capabilities = ["update"]
}
path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}

# Hash data, and read the status of a control group request.
path "sys/tools/hash" {
  capabilities = ["update"]
}
path "sys/tools/hash/*" {
  capabilities = ["update"]
}
path "sys/control-group/request" {
  capabilities = ["update"]
}
`
