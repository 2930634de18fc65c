/**
 * Encodes a generated token for the holder of the one-time password (OTP): token and OTP, both of the same length,
 * XORed, in base64 without padding. Throws if the lengths differ.
 */
export const encodeWithOtp = (token: string, otp: string): string =>
  xor(Buffer.from(token), Buffer.from(otp)).toString('base64').replace(/=+$/, '')

/** Decodes the token as a client does. Padding is accepted. */
export const decodeWithOtp = (encoded: string, otp: string): string =>
  xor(Buffer.from(encoded, 'base64'), Buffer.from(otp)).toString()

const xor = (bytes: Buffer, pad: Buffer): Buffer => {
  if (bytes.length !== pad.length) throw new Error(`a one-time pad of ${pad.length} bytes for ${bytes.length}`)
  return Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0)))
}
