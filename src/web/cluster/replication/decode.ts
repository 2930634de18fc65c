/**
 * Decodes a token of a key-share ceremony with the one-time password of its start: XORs their bytes. Throws if their
 * lengths differ.
 */
export const decodeToken = (encoded: string, password: string): string => {
  const bytes = atob(encoded.replace(/=+$/, ''))
  if (bytes.length !== password.length) throw new Error('this one-time password belongs to another attempt')
  return [...bytes].map((byte, index) => String.fromCharCode(byte.charCodeAt(0) ^ password.charCodeAt(index))).join('')
}
