import type { Agent } from 'node:http'
import { callHttp, parseJsonObject } from '../../base/http-call.js'
import { LIMITS } from '../../base/limits.js'

export interface Answer {
  readonly status: number
  readonly json: Record<string, unknown>
}

interface Question {
  readonly method: 'GET' | 'POST'
  /** Scheme, host and port. */
  readonly url: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly agent?: Agent | undefined
}

/**
 * Sends one request to a cluster without a Vault token. The lab daemon runs as long as its lab, so it does not load the complete
 * API client. Does not verify certificates: the port alone identifies a cluster.
 */
export const ask = async ({ method, url, body, headers, timeoutMs, agent }: Question): Promise<Answer> => {
  const isTls = url.startsWith('https:')
  const { status, bytes } = await callHttp({
    ...{ method, url, timeoutMs, bytesMax: LIMITS.smallAnswerBytesMax },
    headers: {
      'X-Vault-Request': 'true',
      ...headers,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(isTls ? { tls: { rejectUnauthorized: false } } : { agent }),
  })
  return { status, json: parseJsonObject(bytes) ?? {} }
}
