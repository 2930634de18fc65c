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
export const DEFAULT_POLICY_TEXT = `# What every token may do unless it was made without this policy.

# Look at itself, prolong itself, end itself.
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
path "auth/token/revoke-self" {
  capabilities = ["update"]
}

# Find out what it may do.
path "sys/capabilities-self" {
  capabilities = ["update"]
}
path "sys/internal/ui/resultant-acl" {
  capabilities = ["read"]
}

# Read the identity it stands for.
path "identity/entity/id/{{identity.entity.id}}" {
  capabilities = ["read"]
}
path "identity/entity/name/{{identity.entity.name}}" {
  capabilities = ["read"]
}
path "identity/oidc/provider/+/authorize" {
  capabilities = ["read", "update"]
}

# Look up and renew leases whose id it knows, by the present and by the old path.
path "sys/leases/lookup" {
  capabilities = ["update"]
}
path "sys/leases/renew" {
  capabilities = ["update"]
}
path "sys/renew" {
  capabilities = ["update"]
}

# Keep things in its own cubbyhole.
path "cubbyhole/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}

# Wrap data and open what was wrapped for it.
path "sys/wrapping/wrap" {
  capabilities = ["update"]
}
path "sys/wrapping/lookup" {
  capabilities = ["update"]
}
path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}

# Hash data, and ask how far a request for authorisation is.
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
