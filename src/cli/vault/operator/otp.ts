/** The one-time pad that hides a generated token. */
import { decodeWithOtp } from '../../../base/one-time-pad.js'
import { localError } from '../cli-error.js'

/**
 * The token in `encoded`, which is base64 without padding (padding is accepted). Throws when pad and token do not have the
 * same length.
 */
export const decodeToken = (encoded: string, otp: string): string => {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) throw localError('Error decoding token: it is not base64')
  const tokenBytes = Buffer.byteLength(encoded, 'base64')
  const otpBytes = Buffer.byteLength(otp)
  if (tokenBytes === 0 || tokenBytes !== otpBytes) {
    throw localError(`Error decoding token: it has ${tokenBytes} bytes, the OTP has ${otpBytes}`)
  }
  return decodeWithOtp(encoded, otp)
}
