/**
 * Encodes a generated token for the holder of the one-time password (OTP): the XOR of token and OTP, in base64 without
 * padding. Throws if the lengths of token and OTP differ.
 */
export const encodeWithOtp = (token: string, otp: string): string =>
  xor(Buffer.from(token), Buffer.from(otp)).toString('base64').replace(/=+$/, '')

/** Decodes an encoded token, as clients do. Accepts padding. Throws if the lengths of token and OTP differ. */
export const decodeWithOtp = (encoded: string, otp: string): string =>
  xor(Buffer.from(encoded, 'base64'), Buffer.from(otp)).toString()

const xor = (bytes: Buffer, pad: Buffer): Buffer => {
  if (bytes.length !== pad.length) throw new Error(`the OTP has ${pad.length} bytes, but the token has ${bytes.length}`)
  return Buffer.from(bytes.map((byte, index) => byte ^ (pad[index] ?? 0)))
}
