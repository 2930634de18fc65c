import { quoteForShell, shellWord } from '../../base/shell.js'
import type { ClusterAccess } from '../model/cluster.js'
import { OPERATION_TOKEN } from '../requests/replication.js'

/**
 * Command lines equivalent to the requests of operations, drills, pages and runbooks. Shell variables replace secrets.
 * A line whose response contains a secret sets the variable that later lines use.
 */

/** Request fields that contain secrets, each with the shell variable that replaces its value. */
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
  readonly isAuthenticated?: boolean
}

/** The cluster that a command line addresses. */
export type Target = Pick<ClusterAccess, 'apiAddress' | 'caFile' | 'written'>

/** Returns the flags for the address, the namespace and the CA of a cluster. */
export const flagsOf = ({ apiAddress, caFile, written }: Target): string =>
  [
    `-address=${apiAddress}`,
    ...(written ? [`-namespace=${written.namespace}`] : []),
    ...(caFile === undefined ? [] : [`-ca-cert=${caFile}`]),
  ]
    .map((flag) => shellWord(flag))
    .join(' ')

/** Returns the start of a command that sends the token of a cluster. */
export const vaultWithToken = ({ written }: Target): string =>
  written ? `VAULT_TOKEN="$${written.tokenVariable}" vault` : 'vault'

/** Returns the command line for a request to a cluster. */
export const lineOf = ({ method, path, body, isAuthenticated }: Request, target: Target): string => {
  if (path.startsWith('/')) return curlLine({ method, path, body }, target)
  const vault = isAuthenticated ? vaultWithToken(target) : 'vault'
  const at = flagsOf(target)
  if (method === 'GET') return `${vault} read ${at} ${shellWord(path)}`
  if (method === 'LIST') return `${vault} list ${at} ${shellWord(path)}`
  if (method === 'DELETE') return `${vault} delete ${at} ${shellWord(path)}`
  const verb = method === 'PATCH' ? 'patch' : 'write'
  const fields = Object.entries((body ?? {}) as Record<string, unknown>)
  if (path.endsWith('/primary/secondary-token') && fields.length > 0 && fields.every(([, value]) => isPlain(value))) {
    const field = fields.some(([key]) => key === 'secondary_public_key') ? 'token' : 'wrapping_token'
    return capture('ACTIVATION_TOKEN', withPairs(`${vault} ${verb} ${at} -field=${field} ${shellWord(path)}`, fields))
  }
  if (fields.length === 0) return `${vault} ${verb} ${at} -f ${shellWord(path)}`
  if (fields.every(([, value]) => isPlain(value))) return withPairs(`${vault} ${verb} ${at} ${shellWord(path)}`, fields)
  return `echo ${quoteForShell(JSON.stringify(conceal(body)))} | ${vault} ${verb} ${at} ${shellWord(path)} -`
}

const capture = (variable: string, command: string): string => `${variable}="$(${command})"`

const generate = (target: Target, rest: string): string =>
  `vault operator generate-root ${flagsOf(target)} -dr-token ${rest}`

/** Generates the one-time password (OTP) that encodes a DR operation token. */
export const otpLine = (target: Target): string => capture('OTP', generate(target, '-generate-otp'))

export const decodingLine = (target: Target): string =>
  capture('DR_OPERATION_TOKEN', generate(target, '-decode="$ENCODED_TOKEN" -otp="$OTP"'))

/** Sets a variable from a row of the output of a command. A pipe to awk would hide that the command failed. */
const captureRow = (variable: string, row: string, command: string): string =>
  `progress="$(${command})" && ${capture(variable, `printf '%s\\n' "$progress" | awk '$1 == "${row}" { print $NF }'`)}`

/** The commands for requests that generate a DR operation token. */
const GENERATIONS: Readonly<Record<string, (target: Target) => string>> = {
  [`PUT ${OPERATION_TOKEN}/attempt`]: (target) => captureRow('NONCE', 'Nonce', generate(target, '-init -otp="$OTP"')),
  // Standard input keeps the share out of the list of processes.
  [`PUT ${OPERATION_TOKEN}/update`]: (target) =>
    captureRow('ENCODED_TOKEN', 'Encoded', `printf %s "$KEY_SHARE" | ${generate(target, '-nonce="$NONCE" -')}`),
  [`DELETE ${OPERATION_TOKEN}/attempt`]: (target) => generate(target, '-cancel'),
}

/** Returns the command line for a request of an operation. */
export const stepLineOf = (request: Request, target: Target): string =>
  GENERATIONS[`${request.method} ${request.path}`]?.(target) ?? lineOf(request, target)

const curlLine = ({ method, path, body }: Request, { apiAddress, caFile }: Target): string =>
  [
    'curl',
    ...(caFile === undefined ? [] : ['--cacert', shellWord(caFile)]),
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(body === undefined ? [] : ['-d', quoteForShell(JSON.stringify(conceal(body)))]),
    shellWord(`${apiAddress}${path}`),
  ].join(' ')

const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every((item) => typeof item === 'string') : typeof value !== 'object'

const withPairs = (command: string, fields: readonly (readonly [string, unknown])[]): string =>
  [command, ...fields.map(([key, value]) => pair(key, value))].join(' ')

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
