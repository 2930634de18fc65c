/** Alternative names of the kind `otherName` with a text as value (RFC 5280, 4.2.1.6). */
import { decodeOid, encodeDer, encodeOid, readDer, readDerSequence } from './der.js'

export interface OtherName {
  /** An object identifier. */
  readonly oid: string
  readonly text: string
}

const [OTHER_NAME, UTF8_STRING] = [0xa0, 0x0c]

/** Returns the DER of alternative names: the other names, and after them the names of a sequence in DER, if any. */
export const withOtherNames = (names: readonly OtherName[], sequence?: Buffer): Buffer => {
  const own = names.map(({ oid, text }) =>
    encodeDer(OTHER_NAME, [encodeOid(oid), encodeDer(OTHER_NAME, [encodeDer(UTF8_STRING, [Buffer.from(text)])])]),
  )
  const rest = sequence ? readDer(sequence).map(({ content }) => content) : []
  return encodeDer(0x30, [...own, ...rest])
}

/** Returns the other names in the DER of alternative names. Throws for an other name that is no UTF8 string. */
export const otherNamesIn = (sequence: Buffer): OtherName[] =>
  readDerSequence(sequence)
    .filter(({ tag }) => tag === OTHER_NAME)
    .map(({ content }) => {
      const [oid, value] = readDer(content)
      const [text] = value ? readDer(value.content) : []
      if (!oid || text?.tag !== UTF8_STRING) throw new Error('no UTF-8 string found in OtherName')
      return { oid: decodeOid(oid.content), text: text.content.toString('utf8') }
    })
