import type { Act, Field } from './acts.js'

/** The actions on mounts, policies, AppRoles and tokens, as data. */

const PATH: Field = { name: 'path', label: 'At', kind: 'text', isRequired: true }
const LOCAL: Field = { name: 'local', label: 'Local', kind: 'check', hint: 'not replicated to performance secondaries' }

const mountAct = (label: string, root: 'sys/mounts' | 'sys/auth', fixed: Act['fixed'], at: string): Act => ({
  label,
  method: 'POST',
  path: `${root}/{path}`,
  fields: [{ ...PATH, initial: at }, LOCAL, { name: 'description', label: 'Description', kind: 'text' }],
  ...(fixed && { fixed }),
})

export const MOUNT_ACTS: readonly Act[] = [
  mountAct('Enable key/value …', 'sys/mounts', { type: 'kv', options: { version: '2' } }, 'kv'),
  mountAct('Enable transit …', 'sys/mounts', { type: 'transit' }, 'transit'),
  mountAct('Enable AppRole …', 'sys/auth', { type: 'approle' }, 'approle'),
  mountAct('Enable userpass …', 'sys/auth', { type: 'userpass' }, 'userpass'),
]

/** `path` ends with a slash. */
export const disableAct = (root: 'sys/mounts' | 'sys/auth', path: string): Act => ({
  label: 'Disable …',
  method: 'DELETE',
  path: `${root}/${path.replace(/\/$/, '')}`,
  consequence: 'All that is stored in it is gone, here and on secondaries.',
  isDestructive: true,
})

const POLICIES = 'sys/policies/acl'
const policyText = (initial: string): Field => ({
  ...{ name: 'policy', label: 'Policy', kind: 'long', isRequired: true, initial },
})

export const NEW_POLICY: Act = {
  label: 'New policy …',
  method: 'POST',
  path: `${POLICIES}/{name}`,
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true },
    policyText('path "secret/data/*" {\n  capabilities = ["read", "list"]\n}'),
  ],
}
export const changePolicy = (name: string, text: string): Act => ({
  ...{ label: 'Change …', method: 'POST', path: `${POLICIES}/${name}`, fields: [policyText(text)] },
})
export const deletePolicy = (name: string): Act => ({
  label: 'Delete …',
  method: 'DELETE',
  path: `${POLICIES}/${name}`,
  consequence: 'Tokens that have it may no more what it allowed.',
  isDestructive: true,
})

const DURATION = 'as 30m; the default of the mount where nothing is said'
const ROLE_FIELDS: readonly Field[] = [
  { name: 'token_policies', label: 'Policies of its tokens, one a line', kind: 'lines' },
  { name: 'token_ttl', label: 'Tokens are good for', kind: 'text', hint: DURATION },
  {
    name: 'secret_id_ttl',
    label: 'SecretIDs are good for',
    kind: 'text',
    hint: 'as 24h; without end where nothing is said',
  },
  { name: 'secret_id_num_uses', label: 'Logins with one SecretID', kind: 'number', hint: '0: any number' },
]

/** `mount` ends with a slash, for example `approle/`. */
export const newRole = (mount: string): Act => ({
  label: 'New role …',
  method: 'POST',
  path: `auth/${mount}role/{role_name}`,
  fields: [{ name: 'role_name', label: 'Name', kind: 'text', isRequired: true }, ...ROLE_FIELDS],
})
export const generateSecretId = (role: string): Act => ({
  label: 'Generate a SecretID …',
  method: 'POST',
  path: `${role}/secret-id`,
  fields: [
    { name: 'ttl', label: 'Good for', kind: 'text', hint: 'no longer than the role says' },
    { name: 'num_uses', label: 'Logins with it', kind: 'number' },
    { name: 'cidr_list', label: 'Addresses it may be used from, one a line', kind: 'lines' },
  ],
  consequence: 'It is shown once, and nowhere else.',
})
export const destroySecretId = (role: string, accessor: string): Act => ({
  label: 'Destroy …',
  method: 'POST',
  path: `${role}/secret-id-accessor/destroy`,
  fixed: { secret_id_accessor: accessor },
  consequence: 'Logins with it fail. Its tokens stay valid.',
  isDestructive: true,
})
export const deleteRole = (role: string): Act => ({
  label: 'Delete the role …',
  method: 'DELETE',
  path: role,
  consequence: 'Logins with it fail. Its tokens stay valid.',
  isDestructive: true,
})

export const NEW_TOKEN: Act = {
  label: 'New token …',
  method: 'POST',
  path: 'auth/token/create',
  fields: [
    { name: 'policies', label: 'Policies, one a line', kind: 'lines', hint: 'your own where nothing is said' },
    { name: 'ttl', label: 'Good for', kind: 'text', hint: DURATION },
    { name: 'display_name', label: 'Name to show', kind: 'text' },
    { name: 'no_parent', label: 'Without a parent', kind: 'check', hint: 'it outlives the token that made it' },
  ],
}
export const revokeToken = (accessor: string): Act => ({
  label: 'Revoke …',
  method: 'POST',
  path: 'auth/token/revoke-accessor',
  fixed: { accessor },
  consequence: 'It, and the tokens that it made, are good for nothing any more.',
  isDestructive: true,
})

export const NEW_AUDIT: Act = {
  label: 'Enable a file …',
  method: 'POST',
  path: 'sys/audit/{path}',
  fields: [
    { ...PATH, initial: 'file' },
    {
      name: 'options',
      label: 'Options, as JSON',
      kind: 'json',
      isRequired: true,
      initial: '{"file_path": "audit.log"}',
    },
  ],
  fixed: { type: 'file' },
  consequence: 'Every request is written to it before it is answered, with secrets as hashes.',
}
/** `path` ends with a slash. */
export const disableAudit = (path: string): Act => ({
  label: 'Disable …',
  method: 'DELETE',
  path: `sys/audit/${path.replace(/\/$/, '')}`,
  consequence: 'Nothing is written there any more.',
  isDestructive: true,
})
