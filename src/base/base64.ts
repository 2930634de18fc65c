/**
 * Decodes base64 with padding. Returns undefined for an invalid text, whereas Node's decoder skips invalid characters.
 * Line ends are allowed, because pasted texts contain them.
 */
export const decodeBase64 = (text: string): Buffer | undefined => {
  const joined = text.replace(/[\r\n]/g, '')
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(joined)
  return isBase64 ? Buffer.from(joined, 'base64') : undefined
}
