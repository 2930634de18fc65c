/** Texts about requests that failed, in the shape that scripts know. */
import type { ApiUnreachable } from '../../client/api-client.js'
import { parseBody } from './secret.js'

interface Refusal {
  readonly method: string
  readonly url: string
  readonly namespace: string
  readonly status: number
  readonly bytes: Buffer
}

/** The refusal of a server in words: method, address, status and its errors, else its warnings, else its whole body. */
export const describeRefusal = ({ method, url, namespace, status, bytes }: Refusal): string => {
  const head = [
    'Error making API request.',
    '',
    ...(namespace ? [`Namespace: ${namespace}`] : []),
    `URL: ${method} ${url}`,
  ]
  const texts = textsOf(bytes)
  if (!texts) {
    return [...head, `Code: ${status}. Raw Message:`, '', bytes.toString('utf8')].join('\n')
  }
  return [...head, `Code: ${status}. Errors:`, '', ...texts.map((text) => `* ${text}`)].join('\n')
}

/** The errors of an answer, else its warnings; undefined when it has neither. */
export const textsOf = (bytes: Buffer): string[] | undefined => {
  const body = parseBody(bytes)
  const texts = body?.errors ?? body?.warnings
  return Array.isArray(texts) ? texts.map(String) : undefined
}

/** Why no answer came. */
export const describeUnreachable = (method: string, url: string, error: ApiUnreachable): string => {
  const verb = method[0] + method.slice(1).toLowerCase()
  return `${verb} ${JSON.stringify(url)}: ${reasonOf(new URL(url), error.cause)}`
}

const reasonOf = (url: URL, cause: unknown): string => {
  const { code = '', message = '' } = (cause ?? {}) as { code?: string; message?: string }
  const peer = `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`
  if (code === 'ECONNREFUSED') return `dial tcp ${peer}: connect: connection refused`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${url.hostname}: no such host`
  if (code === 'ECONNRESET') return `${peer}: connection reset by peer`
  if (code === 'EPROTO' || /wrong version number|packet length too long/.test(message)) {
    return 'http: server gave HTTP response to HTTPS client'
  }
  if (/certificate|altname/i.test(`${code} ${message}`)) return `tls: failed to verify certificate: x509: ${message}`
  return message || code || 'no answer'
}
