import { decodeBase64 } from '../base/base64.js'
import { LIMITS } from '../base/limits.js'

type ParsedKeyShare = { readonly ok: true; readonly share: Buffer } | { readonly ok: false; readonly problem: string }

/**
 * Parses a key share that an operator has entered in hex or base64. Some base64 texts are also valid hex. Therefore a
 * text is parsed as hex only if the result has the length of a share. The problem texts are those of the API.
 */
export const parseKeyShare = (text: string): ParsedKeyShare => {
  const fromHex = decodeHex(text)
  const share = fromHex && isShareLength(fromHex.length) ? fromHex : decodeBase64(text)
  if (!share) return { ok: false, problem: "'key' must be a valid hex or base64 string" }
  if (share.length < LIMITS.shareBytesMin) {
    return { ok: false, problem: `invalid key: key is shorter than minimum ${LIMITS.shareBytesMin} bytes` }
  }
  if (share.length > LIMITS.shareBytesMax) {
    return { ok: false, problem: `invalid key: key is longer than maximum ${LIMITS.shareBytesMax} bytes` }
  }
  return { ok: true, share }
}

const isShareLength = (length: number): boolean => length >= LIMITS.shareBytesMin && length <= LIMITS.shareBytesMax

const decodeHex = (text: string): Buffer | undefined =>
  text.length % 2 === 0 && /^[0-9a-fA-F]+$/.test(text) ? Buffer.from(text, 'hex') : undefined
