import { flag, type FlagValues } from './flags.js'

/** Flags of every command: address, credentials and output format. */
export const COMMON_FLAGS = {
  address: flag.text('Address of the server.', { env: ['VAULT_AGENT_ADDR', 'VAULT_ADDR'] }),
  'agent-address': flag.text('Address of an agent, which wins over -address.'),
  'ca-cert': flag.text('File with the certificate authority to trust.', { env: ['VAULT_CACERT'] }),
  'ca-path': flag.text('Directory of such files.', { env: ['VAULT_CAPATH'] }),
  'client-cert': flag.text('Certificate to present to the server.', { env: ['VAULT_CLIENT_CERT'] }),
  'client-key': flag.text('Key of that certificate.', { env: ['VAULT_CLIENT_KEY'] }),
  'tls-server-name': flag.text('Name to expect in the certificate of the server.', { env: ['VAULT_TLS_SERVER_NAME'] }),
  'tls-skip-verify': flag.bool('Trust any certificate.', { env: ['VAULT_SKIP_VERIFY'] }),
  namespace: flag.text('Namespace that paths are relative to.', { aliases: ['ns'], env: ['VAULT_NAMESPACE'] }),
  header: flag.pairs('Header to send, as name=value; may be repeated.'),
  'wrap-ttl': flag.text('Wrap the answer for this long.', { env: ['VAULT_WRAP_TTL'] }),
  'non-interactive': flag.bool('Never ask at the terminal.'),
  'output-curl-string': flag.bool('Print the request as a curl command and do not send it.'),
  'output-policy': flag.bool('Print the policy that the request needs and do not send it.'),
  'policy-override': flag.bool('Accepted; there are no soft-mandatory policies here.'),
  mfa: flag.list('Accepted; there is no multi-factor authentication here.', { env: ['VAULT_MFA'] }),
  format: flag.text('table, json, yaml or raw.', { env: ['VAULT_FORMAT'], fallback: 'table' }),
  field: flag.text('Print this field alone.'),
} as const

/** Output flags, which Vault accepts at any position. All others must precede the arguments. */
export const LATE_FLAGS: ReadonlySet<string> = new Set(['format', 'detailed', 'output-curl-string', 'output-policy'])

export type CommonFlags = FlagValues<typeof COMMON_FLAGS>
