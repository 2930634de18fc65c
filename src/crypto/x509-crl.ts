/**
 * Revocation lists. All bytes are DER. The certificate library needs a third of a millisecond for each entry, so that
 * it only makes the frame of a list: entries are encoded and read here.
 */
import { loadX509 } from './certificates.js'
import { type DerItem, encodeDer, encodeInteger, readDer, readDerSequence } from './der.js'
import { objectCrypto, objectKey, signDer } from './object-keys.js'
import { derOf } from './pem.js'
import { algorithmOf, asCryptoKey, keyIdOf, type Signer, spkiOf, toSecond } from './x509-signing.js'

interface RevocationList {
  /** The certificate of the issuer. */
  readonly issuer: Buffer
  readonly number: number
  readonly thisUpdateMs: number
  readonly nextUpdateMs: number
  /** Results of `crlEntry`, with different serial numbers. */
  readonly entries: readonly Buffer[]
}

const [BIT_STRING, SEQUENCE, UTC_TIME, GENERALIZED_TIME, EXTENSIONS] = [0x03, 0x30, 0x17, 0x18, 0xa0]

/** Returns the entry of a certificate, whose serial number is in hex. */
export const crlEntry = (serial: string, revokedMs: number): Buffer =>
  encodeDer(SEQUENCE, [encodeInteger(Buffer.from(serial, 'hex')), timeOf(revokedMs)])

/** Returns a time between 1950 and 9999 as RFC 5280 requires it. */
const timeOf = (ms: number): Buffer => {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return digits < '2050'
    ? encodeDer(UTC_TIME, [Buffer.from(digits.slice(2))])
    : encodeDer(GENERALIZED_TIME, [Buffer.from(digits)])
}

/** Signs a list. The number must be below 2^53. */
export const createCrl = async (list: RevocationList, signer: Signer): Promise<Buffer> => {
  const x509 = await loadX509()
  const algorithm = algorithmOf(signer)
  const issuer = new x509.X509Certificate(list.issuer)
  const keyId = issuer.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId
  const frame = await x509.X509CrlGenerator.create(
    {
      issuer: issuer.subjectName,
      thisUpdate: toSecond(list.thisUpdateMs),
      nextUpdate: toSecond(list.nextUpdateMs),
      signingAlgorithm: algorithm,
      signingKey: asCryptoKey(objectKey(signer.key, algorithm)),
      extensions: [
        new x509.AuthorityKeyIdentifierExtension(keyId ?? (await keyIdOf(x509, spkiOf(signer.key)))),
        new x509.Extension(CRL_NUMBER, false, encodeInteger(list.number)),
      ],
    },
    objectCrypto,
  )
  const bytes = Buffer.from(frame.rawData)
  if (list.entries.length === 0) return bytes
  const [content, signatureAlgorithm] = readDerSequence(bytes)
  if (!content || !signatureAlgorithm) throw new Error('malformed revocation list')
  const parts = readDer(content.content)
  const before = parts.filter(({ tag }) => tag !== EXTENSIONS).map(whole)
  const after = parts.filter(({ tag }) => tag === EXTENSIONS).map(whole)
  const signed = encodeDer(SEQUENCE, [...before, encodeDer(SEQUENCE, list.entries), ...after])
  const signature = encodeDer(BIT_STRING, [Buffer.alloc(1), signDer(algorithm, signer.key, signed)])
  return encodeDer(SEQUENCE, [signed, whole(signatureAlgorithm), signature])
}

const CRL_NUMBER = '2.5.29.20'

const whole = ({ tag, content }: DerItem): Buffer => encodeDer(tag, [content])

/** Returns the serial numbers of a revocation list in PEM, in decimal. Throws for any other text. */
export const readRevokedSerials = (pem: string): string[] => {
  if (!/^-----BEGIN X509 CRL-----\s/.test(pem.trim())) throw new Error('it is not a revocation list in PEM')
  const [content, ...signature] = readDerSequence(derOf(pem))
  if (!content || signature.length !== 2) throw new Error('malformed revocation list')
  const parts = readDer(content.content)
  const times = parts.filter(isTime)
  const last = times.at(-1)
  if (!last) throw new Error('malformed revocation list')
  const entries = parts.slice(parts.indexOf(last) + 1).find(({ tag }) => tag === SEQUENCE)
  return (entries ? readDer(entries.content) : []).map(({ content: entry }) => {
    const [serial] = readDer(entry)
    return BigInt(`0x${serial?.content.toString('hex')}`).toString()
  })
}

const isTime = ({ tag }: DerItem): boolean => tag === UTC_TIME || tag === GENERALIZED_TIME
