import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { invalid, LogicalError } from '../logical/errors.js'
import type { JsonObject, JsonValue } from '../logical/json.js'
import { parseJson } from '../logical/json-text.js'
import { isBarePath } from './own-paths.js'
import { parseForm } from './url-pairs.js'

const NOTHING = Buffer.alloc(0)

/** All bytes of the body, at once where there is none. */
export const bodyOf = (request: IncomingMessage, bytesMax: number): Buffer | Promise<Buffer> => {
  const length = request.headers['content-length']
  const isEmpty = (length === undefined || length === '0') && request.headers['transfer-encoding'] === undefined
  return isEmpty ? NOTHING : readBody(request, bytesMax)
}

/** The client went away while it sent its body: there is nobody to answer. */
export class ClientGone extends Error {}

/** Fails with `body-too-large` as soon as there are, or will be, more than `bytesMax`. */
const readBody = (request: IncomingMessage, bytesMax: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const tooLarge = () => reject(new LogicalError('body-too-large', 'http: request body too large'))
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
      tooLarge()
      return
    }
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= bytesMax) {
        chunks.push(chunk)
        return
      }
      chunks.length = 0
      tooLarge()
    })
    request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? NOTHING) : Buffer.concat(chunks)))
    request.once('error', (cause) => reject(new ClientGone('the client went away', { cause })))
  })

/**
 * The fields of a body: JSON whatever the media type says, unless it is called a form and does not look like JSON. Nothing,
 * blanks and `null` are no fields. Fails with 400 for anything but an object.
 */
export const parseFields = (bytes: Buffer, mediaType: string | undefined, path: string): JsonObject => {
  if (bytes.length === 0) return Object.create(null)
  const text = bytes.toString('utf8')
  if (isForm(mediaType) && !/^\s*[{[]/.test(text)) return parseForm(text.trim())
  try {
    if (!isUtf8(bytes)) throw invalid('error parsing JSON: the body is not UTF-8')
    return toFields(/^[ \t\r\n]*$/.test(text) ? null : parseJson(text), path)
  } catch (error) {
    throw isBarePath(path) ? inBareWords(error) : error
  }
}

const isForm = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(mediaType)

const toFields = (value: JsonValue, path: string): JsonObject => {
  if (value === null) return Object.create(null)
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid('error parsing JSON: the body is not a JSON object')
  }
  const fields: JsonObject = Object.create(null)
  const isBare = isBarePath(path)
  for (const [name, member] of Object.entries(value)) fields[isBare ? name.toLowerCase() : name] = member
  return fields
}

const inBareWords = (error: unknown): unknown =>
  error instanceof LogicalError
    ? invalid(error.message.replace('error parsing JSON', 'failed to parse JSON input'))
    : error
