/**
 * Decodes base64 with padding. Returns undefined for an invalid text, whereas Node's decoder skips invalid characters.
 * Line ends are allowed, because pasted texts contain them.
 */
export const decodeBase64 = (text: string): Buffer | undefined =>
  findBase64Mistake(text) === undefined ? Buffer.from(text, 'base64') : undefined

/** Returns the position of the first error of a text in base64 with padding, not counting line ends; or undefined. */
export const findBase64Mistake = (text: string): number | undefined => {
  const clean = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, '') : text
  const foreign = clean.search(/[^A-Za-z0-9+/]/)
  if (foreign < 0) return clean.length % 4 === 0 ? undefined : clean.length - (clean.length % 4)
  const isPadding = foreign >= clean.length - 2 && /^={1,2}$/.test(clean.slice(foreign))
  return isPadding && clean.length % 4 === 0 ? undefined : foreign
}
