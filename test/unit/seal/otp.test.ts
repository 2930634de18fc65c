import { expect, test } from 'vitest'
import { decodeWithOtp, encodeWithOtp } from '../../../src/base/one-time-pad.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { createOtp, isOtpLength } from '../../../src/seal/otp.js'

const token = 'hvs.ABCDEFGHIJKLMNOPQRSTUVWX'

test('an OTP has 28 letters and digits, and decodes the token', () => {
  const otp = createOtp(createSeededRandom(1))
  expect(otp).toMatch(/^[0-9A-Za-z]{28}$/)
  expect(isOtpLength(otp)).toBe(true)
  expect(decodeWithOtp(encodeWithOtp(token, otp), otp)).toBe(token)
})

test('the encoded token is base64 without padding', () => {
  expect(encodeWithOtp(token, 'x'.repeat(28))).toMatch(/^[A-Za-z0-9+/]{38}$/)
})

test('an OTP of another length is rejected', () => {
  expect(isOtpLength('short')).toBe(false)
  expect(() => encodeWithOtp(token, 'short')).toThrow()
})
