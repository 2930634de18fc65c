import http from 'node:http'

export interface Answer {
  readonly status: number
  readonly json: Record<string, unknown>
}

interface Question {
  readonly method: 'GET' | 'POST'
  /** With scheme, host and port. */
  readonly url: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly agent?: http.Agent | undefined
}

/** Answers of clusters are small; what is larger is none of theirs. */
const ANSWER_BYTES_MAX = 1024 * 1024

/**
 * One request to a cluster, without tokens of the Vault API and in as little memory as can be: the keeper runs for as long as its lab, so
 * it has no client for everything, and knows of TLS only where a lab has it. Certificates are not checked: who answers is
 * found by its port alone.
 */
export const ask = async ({ method, url, body, headers: own, timeoutMs, agent }: Question): Promise<Answer> => {
  const isTls = url.startsWith('https:')
  const { request } = isTls ? await import('node:https') : http
  const tls = isTls ? { rejectUnauthorized: false } : { agent }
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      'X-Vault-Request': 'true',
      ...own,
      ...(text === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)) }),
    }
    const outgoing = request({ ...placeOf(url), method, headers, timeout: timeoutMs, ...tls }, (incoming) => {
      const chunks: Buffer[] = []
      let bytes = 0
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > ANSWER_BYTES_MAX) outgoing.destroy(new Error('the answer is too large'))
        else chunks.push(chunk)
      })
      incoming.on('error', reject)
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, json: parse(Buffer.concat(chunks)) }))
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`nothing within ${timeoutMs} ms`)))
    outgoing.on('error', reject)
    outgoing.end(text)
  })
}

/** Labs have their servers at plain addresses: for those nothing is loaded that understands every URL. */
const placeOf = (url: string): { readonly host: string; readonly port: string; readonly path: string } => {
  const [, host, port = '', path = ''] = /^https?:\/\/([\d.]+):(\d+)(\/[\w./-]*)$/.exec(url) ?? []
  if (host !== undefined) return { host, port, path }
  const { hostname, port: found, pathname, search } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: found, path: `${pathname}${search}` }
}

const parse = (bytes: Buffer): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
