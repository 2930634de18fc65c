/** The other alternative names of requests, as OID;UTF8:TEXT, and which of them a role allows. */
import { matchesWildcards } from '../../base/wildcards.js'
import type { OtherName } from '../../crypto/other-names.js'
import { invalid } from '../../logical/errors.js'
import { isOid } from './usages.js'

const FORM = /^([^;]*);([^:]*):([\s\S]*)$/

/** Parses other names. Throws LogicalError 400 for a wrong text, with a beginning that says what the texts are. */
export const parseOtherNames = (texts: readonly string[], beginning: string): OtherName[] =>
  texts.map((given) => {
    const quoted = JSON.stringify(given)
    if (!given.includes(';')) throw invalid(`${beginning}: expected a semicolon in other SAN ${quoted}`)
    const found = FORM.exec(given)
    if (!found) throw invalid(`${beginning}: expected a colon in other SAN ${quoted}`)
    const [, oid = '', kind = '', text = ''] = found
    if (/^utf-?8$/i.test(kind)) return { oid, text }
    throw invalid(`${beginning}: only utf8 other SANs are supported; found non-supported type in other SAN ${quoted}`)
  })

/** Returns the other names of a request. Throws LogicalError 400 for a wrong text or object identifier. */
export const requestedOtherNames = (texts: readonly string[]): OtherName[] => {
  const names = parseOtherNames(texts, 'could not parse requested other SAN')
  const wrong = names.find(({ oid }) => !isOid(oid))
  if (wrong)
    throw invalid(`could not parse requested other SAN: ${JSON.stringify(wrong.oid)} is not an object identifier`)
  return names
}

/** Throws LogicalError 400 for the first name that the patterns of a role do not allow. */
export const checkOtherNames = (texts: readonly string[], names: readonly OtherName[]): void => {
  if (texts.join() === '*') return
  const allowed = parseOtherNames(texts, 'error parsing allowed_other_sans')
  for (const { oid, text } of names) {
    const patterns = allowed.filter((one) => one.oid === oid)
    if (patterns.length === 0) throw invalid(`other SAN OID ${oid} not allowed by this role`)
    if (patterns.some((pattern) => matchesWildcards(pattern.text, text))) continue
    throw invalid(`other SAN ${text} not allowed for OID ${oid} by this role`)
  }
}
