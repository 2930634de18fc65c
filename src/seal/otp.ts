/** The one-time passwords that a server generates and accepts. The tokens of its ceremonies have one fixed length. */
import { base62 } from '../base/id.js'
import { LIMITS } from '../base/limits.js'
import type { Random } from '../base/random.js'

export const createOtp = (random: Random): string => base62(random, LIMITS.otpLength)

export const isOtpLength = (otp: string): boolean => Buffer.byteLength(otp) === LIMITS.otpLength
