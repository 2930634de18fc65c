/**
 * How a made token travels back to whoever held the one-time pad: token and pad, both of the same length, XORed and
 * printed in base64 without padding.
 */
import { base62 } from '../base/id.js'
import { LIMITS } from '../base/limits.js'
import type { Random } from '../base/random.js'

export const createOtp = (random: Random): string => base62(random, LIMITS.otpLength)

export const isOtpLength = (otp: string): boolean => Buffer.byteLength(otp) === LIMITS.otpLength

/** Throws when the lengths differ: the tokens of these ceremonies have one fixed length. */
export const encodeWithOtp = (token: string, otp: string): string => {
  return xor(Buffer.from(token), Buffer.from(otp)).toString('base64').replace(/=+$/, '')
}

/** The other direction, as a client does it. */
export const decodeWithOtp = (encoded: string, otp: string): string =>
  xor(Buffer.from(encoded, 'base64'), Buffer.from(otp)).toString()

const xor = (a: Buffer, b: Buffer): Buffer => {
  if (a.length !== b.length) throw new Error(`a one-time pad of ${b.length} bytes for ${a.length}`)
  return Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)))
}
