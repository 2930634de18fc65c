import { invalid } from '../../logical/errors.js'

/** Decodes padded standard base64 and ignores line breaks. Throws 400 with the position of the first error. */
export const decodeBase64 = (text: string): Buffer => {
  const found = findMistake(text)
  if (found !== undefined) throw invalid(`illegal base64 data at input byte ${found}`)
  return Buffer.from(text, 'base64')
}

const findMistake = (text: string): number | undefined => {
  const clean = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, '') : text
  const foreign = clean.search(/[^A-Za-z0-9+/]/)
  if (foreign < 0) return clean.length % 4 === 0 ? undefined : clean.length - (clean.length % 4)
  const isPadding = foreign >= clean.length - 2 && /^={1,2}$/.test(clean.slice(foreign))
  return isPadding && clean.length % 4 === 0 ? undefined : foreign
}
