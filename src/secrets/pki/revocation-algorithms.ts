/** The signature algorithms of revocation lists, with their names in the API. */
import type { KeyObject } from 'node:crypto'
import type { Signer } from '../../crypto/x509-signing.js'
import { invalid } from '../../logical/errors.js'
import { type IssuerRecord, x509Of } from './records.js'

interface Algorithm extends Pick<Signer, 'hashBits' | 'usesPss'> {
  readonly name: string
  readonly keyType: string
}

const BITS = [256, 384, 512] as const

const ALGORITHMS: readonly Algorithm[] = [
  ...BITS.map((hashBits) => ({ name: `SHA${hashBits}WithRSA`, keyType: 'rsa', hashBits, usesPss: false })),
  ...BITS.map((hashBits) => ({ name: `SHA${hashBits}WithRSAPSS`, keyType: 'rsa', hashBits, usesPss: true })),
  ...BITS.map((hashBits) => ({ name: `ECDSAWithSHA${hashBits}`, keyType: 'ec', hashBits, usesPss: false })),
  { name: 'Ed25519', keyType: 'ed25519', hashBits: 0, usesPss: false },
]

/** Returns the name of an algorithm from its spelling in a request. Throws LogicalError 400 for an unsuitable one. */
export const parseAlgorithm = (issuer: IssuerRecord, text: string): string => {
  if (text === '') return ''
  const wanted = text.toLowerCase().replace(/^pureed/, 'ed')
  const found = ALGORITHMS.find(({ name }) => name.toLowerCase() === wanted)
  if (!found) {
    const known = ALGORITHMS.map(({ name }) => name.toLowerCase()).join(', ')
    throw invalid(`Unknown signature algorithm value: ${text} - valid values are ${known}`)
  }
  const { asymmetricKeyType: keyType } = x509Of(issuer).publicKey
  if (keyType !== found.keyType) throw invalid(`unable to sign with ${found.name}: the key of the issuer is ${keyType}`)
  return found.name
}

/** Returns the algorithm with which a key signs certificates by itself. */
export const algorithmName = (key: KeyObject, signature: Pick<Signer, 'hashBits' | 'usesPss'>): string => {
  const { asymmetricKeyType: keyType, asymmetricKeyDetails: details } = key
  const hashBits = keyType === 'ec' ? CURVE_HASH[details?.namedCurve ?? ''] : signature.hashBits || 256
  const found = ALGORITHMS.find(
    (one) =>
      one.keyType === keyType &&
      (keyType === 'ed25519' ||
        (one.hashBits === hashBits && one.usesPss === (keyType === 'rsa' && signature.usesPss))),
  )
  return found?.name ?? ''
}

const CURVE_HASH: Readonly<Record<string, number>> = { prime256v1: 256, secp384r1: 384, secp521r1: 512 }

/** Returns the parameters of the signature of an issuer's list. */
export const signatureOf = ({ revocationAlgorithm }: IssuerRecord): Pick<Signer, 'hashBits' | 'usesPss'> =>
  ALGORITHMS.find(({ name }) => name === revocationAlgorithm) ?? { hashBits: 0, usesPss: false }
