import type http from 'node:http'
import { LabError } from '../lab-error.js'

const BODY_BYTES_MAX = 64 * 1024

/** The body of a request. Rejects with a usage error when it is none of this, or too large. */
export const readJson = async (request: http.IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new LabError('usage', 'the body is too large')
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new LabError('usage', 'the body is not JSON')
  }
}
