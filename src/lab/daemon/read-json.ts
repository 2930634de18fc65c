import type http from 'node:http'
import { LabError } from '../model/lab-error.js'

const BODY_BYTES_MAX = 64 * 1024

/** Reads the body of a request. Rejects with a usage error if it is too large or incomplete. */
export const readBytes = async (request: http.IncomingMessage, bytesMax: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new LabError('usage', 'the body is too large')
      chunks.push(chunk)
    }
  } catch (error) {
    // The client has disconnected, so only this request fails.
    throw request.complete || error instanceof LabError
      ? error
      : new LabError('usage', 'the body is not whole', { cause: error })
  }
  return Buffer.concat(chunks)
}

/** Reads a JSON body. Rejects with a usage error if it is not JSON or too large. */
export const readJson = async (request: http.IncomingMessage): Promise<unknown> => {
  const bytes = await readBytes(request, BODY_BYTES_MAX)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new LabError('usage', 'the body is not JSON')
  }
}
