/**
 * A token as the holders of the key shares made it, opened with the one-time password of whoever began: bytes of the one over
 * those of the other. Throws where they do not belong together.
 */
export const decodeToken = (encoded: string, password: string): string => {
  const bytes = atob(encoded.replace(/=+$/, ''))
  if (bytes.length !== password.length) throw new Error('this one-time password belongs to another attempt')
  return [...bytes].map((byte, index) => String.fromCharCode(byte.charCodeAt(0) ^ password.charCodeAt(index))).join('')
}
