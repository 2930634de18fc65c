import { type ApiAction, destroy, field, post, remove, required } from '../actions/action.js'

/** The actions on mounts, policies, AppRoles and tokens, as data. */

type MountRoot = 'sys/mounts' | 'sys/auth'

const mountAct = (label: string, root: MountRoot, fixed: ApiAction['fixed'], at: string): ApiAction =>
  post(label, `${root}/{path}`, {
    fields: [
      required('text', 'path', 'At', at),
      field('check', 'local', 'Local', { hint: 'not replicated to performance secondaries' }),
      field('text', 'description', 'Description'),
    ],
    ...(fixed && { fixed }),
  })

export const MOUNT_ACTS: readonly ApiAction[] = [
  mountAct('Enable key/value …', 'sys/mounts', { type: 'kv', options: { version: '2' } }, 'kv'),
  mountAct('Enable transit …', 'sys/mounts', { type: 'transit' }, 'transit'),
  mountAct('Enable AppRole …', 'sys/auth', { type: 'approle' }, 'approle'),
  mountAct('Enable userpass …', 'sys/auth', { type: 'userpass' }, 'userpass'),
]

/** `path` ends with a slash. */
export const disableAct = (root: MountRoot, path: string): ApiAction =>
  remove(
    'Disable …',
    `${root}/${path.replace(/\/$/, '')}`,
    'All that is stored in it is gone, here and on secondaries.',
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
  remove('Delete …', `${POLICIES}/${name}`, 'Tokens that have it may no more what it allowed.')

const DURATION = 'as 30m; the default of the mount where nothing is said'

const ROLE_FIELDS = [
  required('text', 'role_name', 'Name'),
  field('lines', 'token_policies', 'Policies of its tokens, one a line'),
  field('text', 'token_ttl', 'Tokens are good for', { hint: DURATION }),
  field('text', 'secret_id_ttl', 'SecretIDs are good for', { hint: 'as 24h; without end where nothing is said' }),
  field('number', 'secret_id_num_uses', 'Logins with one SecretID', { hint: '0: any number' }),
]

/** `mount` ends with a slash, for example `approle/`. */
export const newRole = (mount: string): ApiAction =>
  post('New role …', `auth/${mount}role/{role_name}`, { fields: ROLE_FIELDS })
export const generateSecretId = (role: string): ApiAction =>
  post('Generate a SecretID …', `${role}/secret-id`, {
    fields: [
      field('text', 'ttl', 'Good for', { hint: 'no longer than the role says' }),
      field('number', 'num_uses', 'Logins with it'),
      field('lines', 'cidr_list', 'Addresses it may be used from, one a line'),
    ],
    consequence: 'It is shown once, and nowhere else.',
  })
const LOGINS_FAIL = 'Logins with it fail. Its tokens stay valid.'
export const destroySecretId = (role: string, accessor: string): ApiAction =>
  destroy('Destroy …', `${role}/secret-id-accessor/destroy`, LOGINS_FAIL, { fixed: { secret_id_accessor: accessor } })
export const deleteRole = (role: string): ApiAction => remove('Delete the role …', role, LOGINS_FAIL)

export const NEW_TOKEN = post('New token …', 'auth/token/create', {
  fields: [
    field('lines', 'policies', 'Policies, one a line', { hint: 'your own where nothing is said' }),
    field('text', 'ttl', 'Good for', { hint: DURATION }),
    field('text', 'display_name', 'Name to show'),
    field('check', 'no_parent', 'Without a parent', { hint: 'it outlives the token that made it' }),
  ],
})
export const revokeToken = (accessor: string): ApiAction =>
  destroy('Revoke …', 'auth/token/revoke-accessor', 'It, and the tokens that it made, are good for nothing any more.', {
    fixed: { accessor },
  })

export const NEW_AUDIT = post('Enable a file …', 'sys/audit/{path}', {
  fields: [
    required('text', 'path', 'At', 'file'),
    required('json', 'options', 'Options, as JSON', '{"file_path": "audit.log"}'),
  ],
  fixed: { type: 'file' },
  consequence: 'Every request is written to it before it is answered, with secrets as hashes.',
})
/** `path` ends with a slash. */
export const disableAudit = (path: string): ApiAction =>
  remove('Disable …', `sys/audit/${path.replace(/\/$/, '')}`, 'Nothing is written there any more.')

export const INITIALISE = post('Initialize …', 'sys/init', {
  fields: [
    required('number', 'secret_shares', 'Key shares', '1'),
    required('number', 'secret_threshold', 'Shares that it takes to unseal', '1'),
  ],
  consequence: 'The key shares and the root token are shown once, and nowhere else.',
  isQuiet: true,
})
