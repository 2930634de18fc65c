/** The commands login, which obtains a token and stores it for later commands, and print token. */
import { type Call, type Command, command } from './command.js'
import { flag } from './flags.js'
import { type JsonMap, localError, remoteError, type Secret, secretOf, textOf } from './model.js'
import { storeToken } from './settings.js'
import { cleanPath, readData, readText } from './values.js'

const LOGIN_FLAGS = {
  method: flag.text('Auth method: token, userpass or cert.', { fallback: 'token' }),
  path: flag.text('Mount path of the auth method.'),
  'no-store': flag.bool('Do not store the token.'),
  'no-print': flag.bool('Do not print the token.'),
  'token-only': flag.bool('Print only the token, and do not store it.'),
} as const

type LoginCall = Call<typeof LOGIN_FLAGS>

export const loginCommands: readonly Command[] = [
  command('login [TOKEN | K=V...]', 'Log in and store the token for later commands', LOGIN_FLAGS, async (call) => {
    const { method } = call.flags
    const logIn = METHODS.get(method)
    if (!logIn)
      throw localError(
        `Unknown auth method: ${method}. Use token, userpass or cert. For another method, write to its login path, ` +
          'for example: vault write auth/approle/login role_id=... secret_id=...',
      )
    return finish(call, await logIn(call))
  }),
  command('print token', 'Print the current token', ({ api, out }) => {
    out.line(api.settings.token)
    return 0
  }),
]

const loginByToken = async ({ api, io, args, isInteractive }: LoginCall): Promise<Secret> => {
  const [first = '', ...more] = args
  const isPair = first.startsWith('token=')
  if (more.length > 0) throw localError(`Too many arguments (expected 0-1, got ${args.length})`)
  if (first === '' && !isInteractive)
    throw localError('-non-interactive disables the prompt: specify the token as an argument, or - for standard input')
  const given = first === '' ? await io.ask('Token (will be hidden): ') : isPair ? first.slice('token='.length) : first
  const token = (await readText(given, io)).trim()
  if (!token) throw localError('A token must be supplied')
  const reply = await api.request('Error authenticating', 'GET', 'auth/token/lookup-self', { token, isWrapped: false })
  return secretOf({ auth: authOfLookup(reply.secret?.data ?? {}, token) }, Buffer.alloc(0))
}

/** Converts the response of a token lookup to the form of a login response. */
const authOfLookup = (data: JsonMap, token: string): JsonMap => ({
  client_token: token,
  accessor: data.accessor ?? '',
  policies: [...listOf(data.policies), ...listOf(data.identity_policies)],
  token_policies: listOf(data.policies),
  identity_policies: listOf(data.identity_policies),
  metadata: data.meta ?? null,
  orphan: data.orphan ?? false,
  entity_id: data.entity_id ?? '',
  lease_duration: data.ttl ?? 0,
  renewable: data.renewable ?? false,
})

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

const loginByPassword = async ({ api, io, args, flags, isInteractive }: LoginCall): Promise<Secret> => {
  const { username, password, ...rest } = await readData(args, io)
  const user = textOf(username) || io.env.USER || ''
  if (user === '') throw localError('A user name is required: username=...')
  if (password === undefined && !isInteractive)
    throw localError('-non-interactive disables the prompt: specify password=..., or password=- for standard input')
  const enteredPassword = password ?? (await io.ask('Password (will be hidden): '))
  const path = `auth/${cleanPath(flags.path || 'userpass')}/login/${user}`
  return logInAt(api, path, { ...rest, password: enteredPassword })
}

/** Logs in with the client certificate of the connection. */
const loginByCertificate = async ({ api, io, args, flags }: LoginCall): Promise<Secret> =>
  logInAt(api, `auth/${cleanPath(flags.path || 'cert')}/login`, await readData(args, io))

const logInAt = async (api: LoginCall['api'], path: string, body: JsonMap): Promise<Secret> => {
  const { secret } = await api.request('Error authenticating', 'PUT', path, { body })
  if (!secret) throw remoteError('Error authenticating: the response has no token')
  return secret
}

const METHODS = new Map([
  ['token', loginByToken],
  ['userpass', loginByPassword],
  ['cert', loginByCertificate],
])

const STORED_TEXT =
  'You are now authenticated. The token below is stored for later commands;\nyou do not need to log in again.\n'
const NOT_STORED_TEXT = 'You are now authenticated. The token is not stored: set VAULT_TOKEN to use it.\n'

const finish = ({ out, io, flags }: LoginCall, secret: Secret): number => {
  const token = textOf(secret.auth?.client_token ?? secret.wrapInfo?.token)
  if (token === '') throw remoteError('Error authenticating: the response has no token')
  if (flags['token-only']) return out.single('token', token)
  const isStored = !flags['no-store'] && !secret.wrapInfo
  if (isStored) storeToken(io.homeDirectory, token)
  if (flags['no-print']) return 0
  if (out.isTable && out.field === '') {
    if (isStored && io.env.VAULT_TOKEN) {
      out.note('WARNING! VAULT_TOKEN is set in the environment and takes precedence over the stored token.\n')
    }
    out.success(isStored ? STORED_TEXT : NOT_STORED_TEXT)
  }
  return out.secret(secret)
}
