/**
 * Decodes padded base64; undefined if the text is not valid. Strict, because Node's decoder skips invalid characters. Line
 * ends inside are allowed, because pasted text contains them.
 */
export const decodeBase64 = (text: string): Buffer | undefined => {
  const joined = text.replace(/[\r\n]/g, '')
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(joined)
  return isBase64 ? Buffer.from(joined, 'base64') : undefined
}
