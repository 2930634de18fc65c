/** Output of `-output-curl-string` and `-output-policy`, which do not send the request. */
import { quotedWord, quoteForShell } from '../../base/shell.js'
import type { ClientSettings } from './settings.js'

interface PreviewedRequest {
  readonly method: string
  readonly path: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** Ends a command that only shows its request. */
export class Preview extends Error {
  override readonly name = 'Preview'
}

export const renderPreview = (settings: ClientSettings, request: PreviewedRequest): string =>
  settings.preview === 'policy' ? renderPolicy(request) : renderCurl(settings, request)

/** Renders the curl command. It contains no token, but looks the token up when it runs. */
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
