import { quoteForShell, shellWord } from '../../base/shell.js'

/** Command lines equivalent to the requests of operations, drills and pages. Shell variables replace secrets. */

const SECRETS: Readonly<Record<string, string>> = {
  dr_operation_token: 'DR_OPERATION_TOKEN',
  token: 'ACTIVATION_TOKEN',
  key: 'KEY_SHARE',
  nonce: 'NONCE',
  secret_id: 'SECRET_ID',
  password: 'PASSWORD',
}

interface Request {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** Returns the command line for a request to an address. */
export const lineOf = ({ method, path, body }: Request, address: string): string => {
  if (path.startsWith('/')) return curlLine(method, `${address}${path}`, body)
  const at = shellWord(`-address=${address}`)
  if (method === 'GET') return `vault read ${at} ${shellWord(path)}`
  if (method === 'LIST') return `vault list ${at} ${shellWord(path)}`
  if (method === 'DELETE') return `vault delete ${at} ${shellWord(path)}`
  const verb = method === 'PATCH' ? 'patch' : 'write'
  const fields = Object.entries((body ?? {}) as Record<string, unknown>)
  if (fields.length === 0) return `vault ${verb} ${at} -f ${shellWord(path)}`
  if (fields.every(([, value]) => isPlain(value)))
    return [`vault ${verb} ${at} ${shellWord(path)}`, ...fields.map(([key, value]) => pair(key, value))].join(' ')
  return `echo ${quoteForShell(JSON.stringify(conceal(body)))} | vault ${verb} ${at} ${shellWord(path)} -`
}

/** Returns the command line that decodes a generated operation token. */
export const decodingLine = (address: string): string =>
  `DR_OPERATION_TOKEN="$(vault operator generate-root ${shellWord(`-address=${address}`)} -dr-token -decode="$ENCODED_TOKEN" -otp="$OTP")"`

const curlLine = (method: string, url: string, body: unknown): string =>
  [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(body === undefined ? [] : ['-d', quoteForShell(JSON.stringify(conceal(body)))]),
    shellWord(url),
  ].join(' ')

const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every((item) => typeof item === 'string') : typeof value !== 'object'

const pair = (key: string, value: unknown): string => {
  const secret = SECRETS[key]
  return secret ? `${key}="$${secret}"` : `${shellWord(key)}=${shellWord(String(value))}`
}

/** Replaces the values of secret keys at any depth by shell variables. */
const conceal = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(conceal)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, SECRETS[key] ? `$${SECRETS[key]}` : conceal(inner)]),
  )
}
