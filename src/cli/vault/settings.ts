import { readdirSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../base/attempt.js'
import { readListedText, readNamedText } from '../../base/named-file.js'
import { parseDurationMs } from '../../base/duration.js'
import { replaceFile } from '../../base/replace-file.js'
import type { CommonFlags } from './flags.js'
import { localError, locally, type VaultIo } from './model.js'
import { quotedWord, quoteForShell } from '../../base/shell.js'

const DEFAULT_ADDRESS = 'https://127.0.0.1:8200'
const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_RETRIES = 2

/** The settings of the client, which come from flags and environment variables. */
export type ClientSettings = ReturnType<typeof readSettings>

export const readSettings = (flags: CommonFlags, io: Pick<VaultIo, 'env' | 'homeDirectory'>) => ({
  address: parseAddress(flags['agent-address'] || flags.address || DEFAULT_ADDRESS),
  token: io.env.VAULT_TOKEN || readStoredToken(io.homeDirectory),
  /** The namespace path with a trailing slash. Empty for the root namespace. */
  namespace: normalizeNamespace(flags.namespace),
  headers: flags.header,
  wrapTtl: flags['wrap-ttl'],
  timeoutMs: parseTimeout(io.env.VAULT_CLIENT_TIMEOUT),
  retriesMax: parseRetries(io.env.VAULT_MAX_RETRIES),
  caFile: flags['ca-cert'],
  caPath: flags['ca-path'],
  /** The TLS options of the client. */
  tls: {
    caPem: readAuthorities(flags, io.env),
    clientCertPem: readText(flags['client-cert']),
    clientKeyPem: readText(flags['client-key']),
    serverName: flags['tls-server-name'] || undefined,
    skipVerify: flags['tls-skip-verify'],
  },
  /** The form in which a request is printed instead of being sent. Undefined if requests are sent. */
  preview: flags['output-curl-string'] ? ('curl' as const) : flags['output-policy'] ? ('policy' as const) : undefined,
})

const parseAddress = (text: string): string => {
  const protocol = URL.canParse(text) ? new URL(text).protocol : ''
  if (!['http:', 'https:'].includes(protocol)) {
    throw localError(`the address ${JSON.stringify(text)} is not an http:// or https:// URL`)
  }
  return text.replace(/\/+$/, '')
}

const normalizeNamespace = (text: string): string => {
  const inner = text.replace(/^\/+|\/+$/g, '')
  return inner === '' || inner === 'root' ? '' : `${inner}/`
}

const parseTimeout = (text: string | undefined): number => {
  const ms = text ? parseDurationMs(text) : DEFAULT_TIMEOUT_MS
  if (ms === undefined) throw localError(`could not parse VAULT_CLIENT_TIMEOUT: ${JSON.stringify(text)}`)
  return ms > 0 ? ms : DEFAULT_TIMEOUT_MS
}

const parseRetries = (text: string | undefined): number => {
  if (text && !/^\d+$/.test(text)) throw localError(`could not parse VAULT_MAX_RETRIES: ${JSON.stringify(text)}`)
  return text ? Number(text) : DEFAULT_RETRIES
}

/**
 * Reads the CA certificates. -ca-cert takes precedence over VAULT_CACERT_BYTES, and both over -ca-path, as in Vault.
 */
const readAuthorities = (flags: CommonFlags, env: VaultIo['env']): string | undefined => {
  if (flags['ca-cert']) return readText(flags['ca-cert'])
  if (env.VAULT_CACERT_BYTES) return env.VAULT_CACERT_BYTES
  const directory = flags['ca-path']
  if (!directory) return undefined
  return listFiles(directory)
    .map((file) => readText(file, readListedText) ?? '')
    .join('\n')
}

const listFiles = (directory: string): string[] => {
  const read = () => readdirSync(directory, { withFileTypes: true })
  return locally('the directory of CA certificates cannot be read', read)
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.join(directory, entry.name))
}

const readText = (file: string, read: (file: string) => string = readNamedText): string | undefined =>
  file === '' ? undefined : locally('the certificate or key cannot be read', () => read(file))

const tokenFile = (homeDirectory: string): string => path.join(homeDirectory, '.vault-token')

/** Returns the token that `login` stored, or an empty text if there is none. */
const readStoredToken = (homeDirectory: string): string =>
  attempt(() => readNamedText(tokenFile(homeDirectory)).trim()) ?? ''

/** Stores the token in a file that only its owner can read. */
export const storeToken = (homeDirectory: string, token: string): void =>
  locally('Error storing token', () => replaceFile(tokenFile(homeDirectory), token))

interface PreviewedRequest {
  readonly method: string
  readonly path: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** Thrown instead of sending a request that is only shown. The message is the text to print. */
export class Preview extends Error {
  override readonly name = 'Preview'
}

export const renderPreview = (settings: ClientSettings, request: PreviewedRequest): string =>
  settings.preview === 'policy' ? renderPolicy(request) : renderCurl(settings, request)

/** Renders a request as a curl command. The command runs `vault print token` instead of containing the token. */
const renderCurl = (
  { tls, caFile, caPath }: ClientSettings,
  { method, url, headers, body }: PreviewedRequest,
): string => {
  const shown = Object.entries({ ...headers, 'X-Vault-Request': 'true' })
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) =>
      name === 'X-Vault-Token' ? `"${name}: $(vault print token)"` : quotedWord(`${name}: ${value}`),
    )
  return [
    'curl',
    ...(tls.skipVerify ? ['--insecure'] : []),
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(caFile ? ['--cacert', quoteForShell(caFile)] : caPath ? ['--capath', quoteForShell(caPath)] : []),
    ...shown.flatMap((header) => ['-H', header]),
    ...(method === 'PATCH' ? ['-H', '"Content-Type: application/merge-patch+json"'] : []),
    ...(body ? ['-d', quoteForShell(body.toString('utf8'))] : []),
    /^[\w./:%=?~-]*$/.test(url) ? url : quoteForShell(url),
  ].join(' ')
}

const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  GET: ['read'],
  LIST: ['list'],
  PUT: ['create', 'update'],
  POST: ['create', 'update'],
  PATCH: ['patch'],
  DELETE: ['delete'],
}

const renderPolicy = ({ method, path, url }: PreviewedRequest): string => {
  const operation = new URL(url).searchParams.get('list') === 'true' ? 'LIST' : method
  const capabilities = (CAPABILITIES[operation] ?? []).map((name) => JSON.stringify(name)).join(', ')
  return `path ${JSON.stringify(path)} {\n  capabilities = [${capabilities}]\n}`
}
