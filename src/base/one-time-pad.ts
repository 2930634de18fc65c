/**
 * How a made token travels back to whoever held the one-time pad (OTP): token and pad, both of the same length, XORed and
 * printed in base64 without padding. Throws where the lengths differ.
 */
export const encodeWithOtp = (token: string, otp: string): string =>
  xor(Buffer.from(token), Buffer.from(otp)).toString('base64').replace(/=+$/, '')

/** The other direction, as a client does it; padding is accepted. */
export const decodeWithOtp = (encoded: string, otp: string): string =>
  xor(Buffer.from(encoded, 'base64'), Buffer.from(otp)).toString()

const xor = (bytes: Buffer, pad: Buffer): Buffer => {
  if (bytes.length !== pad.length) throw new Error(`a one-time pad of ${pad.length} bytes for ${bytes.length}`)
  return Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0)))
}
