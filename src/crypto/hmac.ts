import { createHmac } from 'node:crypto'

/** HMAC-SHA-256 of bytes or of a text's UTF-8. */
export const hmacSha256 = (key: Buffer, data: Buffer | string): Buffer =>
  createHmac('sha256', key).update(data).digest()

/** HMAC-SHA-256 as 64 hex digits. */
export const hmacSha256Hex = (key: Buffer, data: Buffer | string): string =>
  createHmac('sha256', key).update(data).digest('hex')
