/** One-time passwords (OTPs) of one fixed length, because the tokens that they encode have one fixed length. */
import { base62 } from '../base/id.js'
import { LIMITS } from '../base/limits.js'
import type { Random } from '../base/random.js'

export const createOtp = (random: Random): string => base62(random, LIMITS.otpLength)

export const isOtpLength = (otp: string): boolean => Buffer.byteLength(otp) === LIMITS.otpLength
