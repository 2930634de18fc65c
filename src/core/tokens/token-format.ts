import { BASE62, base62 } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { hmacSha256 } from '../../crypto/hmac.js'

/**
 * The form of service tokens. Inside, a token is `hvs.` and 24 letters and digits. Handed out, all but root tokens wear
 * a long form that a forger cannot make: 68 bytes in base64url,
 *
 *     version 1 | store position 8 | random part of the id 24 | zero 3 | HMAC-SHA-256 of all before 32
 *
 * Tokens outside the root namespace end with a dot and the id of their namespace in either form.
 */
const PREFIX = 'hvs.'
const RANDOM_LENGTH = 24
const VERSION = 1
const ID_AT = 9
const MAC_AT = 36
const LONG_BYTES = 68
const LONG_LENGTH = 91
const SHORT_ID = /^[0-9A-Za-z]{24}$/

/** The ending of the tokens of a namespace. */
export const suffixOf = (namespaceId: string): string => (namespaceId === 'root' ? '' : `.${namespaceId}`)

export const newTokenId = (random: Random, namespaceId: string): string =>
  `${PREFIX}${base62(random, RANDOM_LENGTH)}${suffixOf(namespaceId)}`

export const newAccessor = (random: Random, namespaceId: string): string =>
  `${base62(random, RANDOM_LENGTH)}${suffixOf(namespaceId)}`

/** The accessor that 32 bytes stand for. Some letters are a little likelier than others: it has to differ, no more. */
export const accessorFrom = (bytes: Buffer, namespaceId: string): string => {
  let letters = ''
  for (let at = 0; at < RANDOM_LENGTH; at++) letters += BASE62[(bytes[at] ?? 0) % BASE62.length]
  return letters + suffixOf(namespaceId)
}

/** The namespace that the end of a token or an accessor names. */
export const namespaceIdOf = (text: string): string => {
  const dot = text.lastIndexOf('.')
  return dot <= 'hvs'.length ? 'root' : text.slice(dot + 1)
}

/** The long form of an internal id; what is no id of ours (a chosen one) stays as it is. */
export const presentLong = (key: Buffer, id: string, position: number): string => {
  const body = id.slice(PREFIX.length, PREFIX.length + RANDOM_LENGTH)
  if (!id.startsWith(PREFIX) || !SHORT_ID.test(body)) return id
  const bytes = Buffer.alloc(LONG_BYTES)
  bytes.writeUInt8(VERSION, 0)
  bytes.writeBigUInt64BE(BigInt(position), 1)
  bytes.write(body, ID_AT, 'latin1')
  hmacSha256(key, bytes.subarray(0, MAC_AT)).copy(bytes, MAC_AT)
  return `${PREFIX}${bytes.toString('base64url')}${id.slice(PREFIX.length + RANDOM_LENGTH)}`
}

/** The internal id of what a client presents, long or short. Undefined for a long form that was tampered with. */
export const parsePresented = (key: () => Buffer, presented: string): string | undefined => {
  if (!presented.startsWith(PREFIX)) return presented
  const dot = presented.indexOf('.', PREFIX.length)
  const end = dot < 0 ? presented.length : dot
  if (end - PREFIX.length !== LONG_LENGTH) return presented
  const text = presented.slice(PREFIX.length, end)
  const bytes = Buffer.from(text, 'base64url')
  // The last letter holds spare bits: only one spelling is ours.
  if (bytes.length !== LONG_BYTES || bytes.readUInt8(0) !== VERSION || bytes.toString('base64url') !== text)
    return undefined
  if (!isSameSecret(hmacSha256(key(), bytes.subarray(0, MAC_AT)), bytes.subarray(MAC_AT))) return undefined
  return `${PREFIX}${bytes.toString('latin1', ID_AT, ID_AT + RANDOM_LENGTH)}${presented.slice(end)}`
}

/** How far the log had come when this form was handed out, if `parsePresented` takes it; 0 for a short one. */
export const positionIn = (presented: string): number => {
  const [text = ''] = presented.slice(PREFIX.length).split('.')
  return text.length === LONG_LENGTH ? Number(Buffer.from(text, 'base64url').readBigUInt64BE(1)) : 0
}
