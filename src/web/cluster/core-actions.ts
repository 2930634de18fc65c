import { type ApiAction, destroy, field, post, remove, required } from '../actions/action.js'

/** The actions on mounts, policies, AppRoles and tokens, as data. */

type MountRoot = 'sys/mounts' | 'sys/auth'

const mountAction = (label: string, root: MountRoot, fixed: ApiAction['fixed'], at: string): ApiAction =>
  post(label, `${root}/{path}`, {
    fields: [
      required('text', 'path', 'Path', at),
      field('check', 'local', 'Local', { hint: 'not replicated to performance secondaries' }),
      field('text', 'description', 'Description'),
    ],
    ...(fixed && { fixed }),
  })

export const MOUNT_ACTIONS: readonly ApiAction[] = [
  mountAction('Enable key/value …', 'sys/mounts', { type: 'kv', options: { version: '2' } }, 'kv'),
  mountAction('Enable transit …', 'sys/mounts', { type: 'transit' }, 'transit'),
  mountAction('Enable AppRole …', 'sys/auth', { type: 'approle' }, 'approle'),
  mountAction('Enable userpass …', 'sys/auth', { type: 'userpass' }, 'userpass'),
]

/** `path` ends with a slash. */
export const disableAction = (root: MountRoot, path: string): ApiAction =>
  remove(
    'Disable …',
    `${root}/${path.replace(/\/$/, '')}`,
    'All data of the mount is deleted, here and on secondaries.',
  )

export const POLICIES = 'sys/policies/acl'

export const NEW_POLICY = post('New policy …', `${POLICIES}/{name}`, {
  fields: [
    required('text', 'name', 'Name'),
    required('long', 'policy', 'Policy', 'path "secret/data/*" {\n  capabilities = ["read", "list"]\n}'),
  ],
})
export const changePolicy = (name: string, text: string): ApiAction =>
  post('Change …', `${POLICIES}/${name}`, { fields: [required('long', 'policy', 'Policy', text)] })
export const deletePolicy = (name: string): ApiAction =>
  remove('Delete …', `${POLICIES}/${name}`, 'Tokens with this policy lose its permissions.')

const DURATION = 'for example 30m (default: TTL of the mount)'

const ROLE_FIELDS = [
  required('text', 'role_name', 'Name'),
  field('lines', 'token_policies', 'Token policies, one per line'),
  field('text', 'token_ttl', 'Token TTL', { hint: DURATION }),
  field('text', 'secret_id_ttl', 'SecretID TTL', { hint: 'for example 24h (default: no expiry)' }),
  field('number', 'secret_id_num_uses', 'Uses per SecretID', { hint: '0: unlimited' }),
]

/** `mount` ends with a slash, for example `approle/`. */
export const newRole = (mount: string): ApiAction =>
  post('New role …', `auth/${mount}role/{role_name}`, { fields: ROLE_FIELDS })
export const generateSecretId = (role: string): ApiAction =>
  post('Generate a SecretID …', `${role}/secret-id`, {
    fields: [
      field('text', 'ttl', 'TTL', { hint: 'at most the TTL of the role' }),
      field('number', 'num_uses', 'Uses'),
      field('lines', 'cidr_list', 'Allowed addresses (CIDR), one per line'),
    ],
    consequence: 'The SecretID is shown only once.',
  })
const LOGINS_FAIL = 'Logins fail. Existing tokens stay valid.'
export const destroySecretId = (role: string, accessor: string): ApiAction =>
  destroy('Destroy …', `${role}/secret-id-accessor/destroy`, LOGINS_FAIL, { fixed: { secret_id_accessor: accessor } })
export const deleteRole = (role: string): ApiAction => remove('Delete the role …', role, LOGINS_FAIL)

export const NEW_TOKEN = post('New token …', 'auth/token/create', {
  fields: [
    field('lines', 'policies', 'Policies, one per line', { hint: 'default: your own policies' }),
    field('text', 'ttl', 'TTL', { hint: DURATION }),
    field('text', 'display_name', 'Display name'),
    field('check', 'no_parent', 'Without a parent', { hint: 'the token stays valid when its creator is revoked' }),
  ],
})
export const revokeToken = (accessor: string): ApiAction =>
  destroy('Revoke …', 'auth/token/revoke-accessor', 'The token and its child tokens become invalid.', {
    fixed: { accessor },
  })

export const NEW_AUDIT = post('Enable a file device …', 'sys/audit/{path}', {
  fields: [
    required('text', 'path', 'Path', 'file'),
    required('json', 'options', 'Options (JSON)', '{"file_path": "audit.log"}'),
  ],
  fixed: { type: 'file' },
  consequence: 'Every request is logged before its response is sent. Secrets are hashed.',
})
/** `path` ends with a slash. */
export const disableAudit = (path: string): ApiAction =>
  remove('Disable …', `sys/audit/${path.replace(/\/$/, '')}`, 'Requests are no longer logged to this device.')

export const INITIALIZE = post('Initialize …', 'sys/init', {
  fields: [
    required('number', 'secret_shares', 'Key shares', '1'),
    required('number', 'secret_threshold', 'Key threshold', '1'),
  ],
  consequence: 'The key shares and the root token are shown only once.',
  isQuiet: true,
})
