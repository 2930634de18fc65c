import { expect, test } from 'vitest'
import { decodeWithOtp, encodeWithOtp } from '../../../src/base/one-time-pad.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { createOtp, isOtpLength } from '../../../src/seal/otp.js'

const token = 'hvs.ABCDEFGHIJKLMNOPQRSTUVWX'

test('a pad is 28 letters and digits, and the token comes back by it', () => {
  const otp = createOtp(createSeededRandom(1))
  expect(otp).toMatch(/^[0-9A-Za-z]{28}$/)
  expect(isOtpLength(otp)).toBe(true)
  expect(decodeWithOtp(encodeWithOtp(token, otp), otp)).toBe(token)
})

test('the encoded token is base64 without padding', () => {
  expect(encodeWithOtp(token, 'x'.repeat(28))).toMatch(/^[A-Za-z0-9+/]{38}$/)
})

test('a pad of another length is refused', () => {
  expect(isOtpLength('short')).toBe(false)
  expect(() => encodeWithOtp(token, 'short')).toThrow()
})
