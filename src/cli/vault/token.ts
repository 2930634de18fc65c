import { textsOfJson } from '../../base/json-print.js'
import { type Call, type Command, command } from './command.js'
import { found } from './data.js'
import { flag, INCREMENT_FLAG } from './flags.js'
import { localError, remoteError } from './model.js'

const ACCESSOR_FLAG = { accessor: flag.bool('The argument is an accessor, not a token.') } as const

const CREATE_FLAGS = {
  id: flag.text('The token to be; chosen by the server when not given.'),
  'display-name': flag.text('Name in logs.'),
  ttl: flag.duration('How long it lives.'),
  'explicit-max-ttl': flag.duration('How long it can be made to live.'),
  period: flag.duration('Time for which each renewal renews it.'),
  renewable: flag.bool('Whether it can be renewed.', { fallback: 'true' }),
  orphan: flag.bool('Give it no parent.'),
  'no-default-policy': flag.bool('Leave the default policy out.'),
  'use-limit': flag.int('How often it can be used; 0 for any number of times.'),
  type: flag.text('service or batch.'),
  metadata: flag.pairs('key=value for logs; may be repeated.'),
  policy: flag.texts('Policy it has; may be repeated.'),
  role: flag.text('Token role to make it with.'),
  'entity-alias': flag.text('Alias of the entity it belongs to; with a role only.'),
} as const

const createBody = ({ flags, isGiven }: Call<typeof CREATE_FLAGS>) => ({
  ...(flags.id && { id: flags.id }),
  ...(flags.policy.length > 0 && { policies: flags.policy }),
  ...(isGiven('metadata') && { meta: flags.metadata }),
  ...(flags.ttl !== undefined && { ttl: flags.ttl }),
  ...(flags['explicit-max-ttl'] !== undefined && { explicit_max_ttl: flags['explicit-max-ttl'] }),
  ...(flags.period !== undefined && { period: flags.period }),
  ...(flags.orphan && { no_parent: true }),
  ...(flags['no-default-policy'] && { no_default_policy: true }),
  display_name: flags['display-name'],
  num_uses: flags['use-limit'] ?? 0,
  renewable: flags.renewable,
  type: flags.type,
  entity_alias: flags['entity-alias'],
})

export const tokenCommands: readonly Command[] = [
  command('token create', 'Create a token', CREATE_FLAGS, async (call) => {
    const { api, out, flags } = call
    const path = flags.role ? `auth/token/create/${flags.role}` : 'auth/token/create'
    const { secret } = await api.request('Error creating token', 'POST', path, { body: createBody(call) })
    return out.secret(found(secret, path))
  }),
  command(
    'token lookup [TOKEN | ACCESSOR]',
    'Look up a token (default: the current token)',
    ACCESSOR_FLAG,
    async ({ api, out, args: [subject = ''], flags }) => {
      const { path, body } = requestAbout('lookup', subject, flags.accessor)
      const { secret } = await api.request('Error looking up token', body ? 'POST' : 'GET', path, body ? { body } : {})
      return out.secret(found(secret, 'the token'))
    },
  ),
  command(
    'token renew [TOKEN | ACCESSOR]',
    'Renew a token (default: the current token)',
    { ...ACCESSOR_FLAG, ...INCREMENT_FLAG },
    async ({ api, out, args: [subject = ''], flags }) => {
      const { path, body } = requestAbout('renew', subject, flags.accessor)
      const { secret } = await api.request('Error renewing token', flags.accessor ? 'POST' : 'PUT', path, {
        body: { ...body, increment: flags.increment ?? 0 },
      })
      return out.secret(found(secret, 'the token'))
    },
  ),
  command(
    'token revoke [TOKEN | ACCESSOR]',
    'Revoke a token and its children',
    {
      ...ACCESSOR_FLAG,
      self: flag.bool('End the own token.'),
      mode: flag.text('orphan to keep the tokens it made, path to end all that were made below a path.'),
    },
    async ({ api, out, args: [subject = ''], flags }) => {
      const { path, body } = revocation(subject, flags)
      await api.request('Error revoking token', flags.accessor ? 'POST' : 'PUT', path, body ? { body } : {})
      return out.success('Revoked token (if it existed)')
    },
  ),
  command(
    'token capabilities [TOKEN | ACCESSOR] PATH',
    'Print the capabilities of a token on a path',
    ACCESSOR_FLAG,
    async ({ api, out, args, flags }) => {
      const path = args.at(-1) ?? ''
      const subject = args.length > 1 ? (args[0] ?? '') : api.settings.token
      const isOwn = !flags.accessor && subject === api.settings.token
      if (flags.accessor && args.length < 2) throw localError('Not enough arguments with -accessor (expected 2, got 1)')
      const { secret } = await api.request(
        'Error listing capabilities',
        'POST',
        `sys/capabilities${flags.accessor ? '-accessor' : isOwn ? '-self' : ''}`,
        { body: { [flags.accessor ? 'accessor' : 'token']: subject, path } },
      )
      const capabilities = secret?.data?.capabilities ?? secret?.data?.[path]
      if (!Array.isArray(capabilities)) throw remoteError(`No capabilities found for ${path}`)
      const sorted = textsOfJson(capabilities).sort()
      return out.value(sorted, () => sorted.join(', '))
    },
  ),
]

/** Returns the request about a token or, with `isAccessor`, that of an accessor; about the own token without a subject. */
const requestAbout = (verb: string, subject: string, isAccessor: boolean) => {
  if (isAccessor && subject === '') throw localError('Not enough arguments with -accessor (expected 1, got 0)')
  if (isAccessor) return { path: `auth/token/${verb}-accessor`, body: { accessor: subject } }
  return subject ? { path: `auth/token/${verb}`, body: { token: subject } } : { path: `auth/token/${verb}-self` }
}

const revocation = (
  subject: string,
  { accessor, self, mode }: { readonly accessor: boolean; readonly self: boolean; readonly mode: string },
) => {
  if (!['', 'orphan', 'path'].includes(mode)) throw localError(`Unknown mode: ${mode}; modes are orphan and path`)
  if (self && (subject !== '' || accessor || mode !== ''))
    throw localError('-self goes with no argument, -accessor or -mode')
  if (accessor && mode !== '') throw localError('-accessor does not go with -mode')
  if (!self && subject === '') throw localError('Not enough arguments (expected 1, got 0)')
  if (mode === 'path') return { path: `sys/leases/revoke-prefix/${subject}` }
  return requestAbout(mode === 'orphan' ? 'revoke-orphan' : 'revoke', subject, accessor)
}
