/** The one-time pad that hides a generated token. */
import { localError } from '../cli-error.js'

/**
 * The token in `encoded`, which is base64 without padding (padding is accepted). Throws when pad and token do not have the
 * same length.
 */
export const decodeToken = (encoded: string, otp: string): string => {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) throw localError('Error decoding token: it is not base64')
  const bytes = Buffer.from(encoded, 'base64')
  const pad = Buffer.from(otp, 'utf8')
  if (bytes.length === 0 || bytes.length !== pad.length) {
    throw localError(`Error decoding token: it has ${bytes.length} bytes, the OTP has ${pad.length}`)
  }
  return Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0))).toString('utf8')
}
