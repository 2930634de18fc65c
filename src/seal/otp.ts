/** One-time passwords (OTPs). All have the same length, since the tokens that they encode have the same length. */
import { base62 } from '../base/id.js'
import { LIMITS } from '../base/limits.js'
import type { Random } from '../base/random.js'

export const createOtp = (random: Random): string => base62(random, LIMITS.otpLength)

export const isOtpLength = (otp: string): boolean => Buffer.byteLength(otp) === LIMITS.otpLength
