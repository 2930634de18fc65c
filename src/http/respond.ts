import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { TurnEnd } from '../base/turn.js'
import type { Rendered } from '../logical/incoming.js'

/**
 * Sends an answer as it stands: no charset, no tag, nothing cached. Answers leave together at the end of the turn: one that
 * leaves alone wakes a client that has gone back to sleep when the next one leaves, which costs more than the answer.
 */
export const respond = (
  request: IncomingMessage,
  response: ServerResponse,
  rendered: Rendered,
  isLast: boolean,
  turnEnd: TurnEnd,
): Promise<void> => {
  const { status, contentType, body } = rendered
  const headers: string[] = ['Cache-Control', 'no-store', 'Content-Type', contentType]
  for (const name in rendered.headers) headers.push(name, rendered.headers[name] ?? '')
  const namespace = request.headers['x-vault-namespace']
  if (typeof namespace === 'string') headers.push('X-Vault-Namespace', namespace)
  if (isLast) headers.push('Connection', 'close')
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    if (status !== 204) headers.push('Content-Length', String(Buffer.byteLength(body)))
    response.writeHead(status, headers)
    return turnEnd.add(() => response.end(body))
  }
  response.writeHead(status, headers)
  return pipeline(Readable.from(body), response)
}

/** A whole answer as bytes, for a connection that has no message to answer: it closes after it. */
export const rawAnswer = (status: number, reason: string, text: string): string => {
  const body = JSON.stringify({ errors: text === '' ? [] : [text] })
  return [
    `HTTP/1.1 ${status} ${reason}`,
    'Cache-Control: no-store',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
