/** Signs certificates with the issuers of the mount, and stores them on this cluster. */
import type { KeyObject } from 'node:crypto'
import { createCertificate, type Signer } from '../../crypto/x509-signing.js'
import type { CertificateContent } from '../../crypto/x509-content.js'
import { invalid } from '../../logical/errors.js'
import type { Authorities } from './authorities.js'
import type { CertificateStore } from './certificate-store.js'
import type { UrlConfig } from './url-config.js'
import { certificateOf, hyphenated, type IssuerRecord, keyObjectOf, type Usage, usageText } from './records.js'

interface Order {
  readonly content: CertificateContent
  readonly publicKey: KeyObject
  /** Start of the validity, in seconds before now. */
  readonly notBeforeSeconds: number
  readonly notAfterMs: number
  readonly signature: Pick<Signer, 'hashBits' | 'usesPss'>
  readonly isStored: boolean
}

export interface Issued {
  readonly der: Buffer
  /** With hyphens. */
  readonly serial: string
  readonly notAfterMs: number
}

export class Issuance {
  readonly authorities: Authorities
  readonly store: CertificateStore
  readonly urls: UrlConfig

  constructor(authorities: Authorities, store: CertificateStore, urls: UrlConfig) {
    this.authorities = authorities
    this.store = store
    this.urls = urls
  }

  /** Returns an issuer. Rejects with LogicalError 500 if there is none, and 400 if it cannot sign certificates. */
  async requireIssuer(reference: string): Promise<IssuerRecord> {
    const issuer = await this.authorities.issuers.require(reference, NO_ISSUER)
    requireSigningKey(this.authorities, issuer, 'issuing-certificates')
    return issuer
  }

  /** Signs with an issuer. Rejects with LogicalError 400 if the issuer cannot sign certificates. */
  async sign(issuer: IssuerRecord, order: Order): Promise<Issued> {
    const key = requireSigningKey(this.authorities, issuer, 'issuing-certificates')
    return this.#create(order, key, issuer)
  }

  /** Creates a self-signed certificate. */
  signSelf(order: Order, key: KeyObject): Promise<Issued> {
    return this.#create(order, key, undefined)
  }

  async #create(order: Order, key: KeyObject, issuer: IssuerRecord | undefined): Promise<Issued> {
    const { clock, random } = this.authorities.context
    const serial = serialFrom(random.bytes(SERIAL_BYTES))
    const der = await createCertificate(
      {
        ...order.content,
        ...this.urls.of(issuer),
        serial,
        publicKey: order.publicKey,
        notBeforeMs: clock.now() - order.notBeforeSeconds * 1000,
        notAfterMs: order.notAfterMs,
      },
      { key, ...order.signature },
      issuer && certificateOf(issuer),
    )
    const issued = { der, serial: hyphenated(serial), notAfterMs: Math.floor(order.notAfterMs / 1000) * 1000 }
    if (order.isStored) {
      const { notAfterMs } = issued
      await this.store.put('issued', issued.serial, { certificate: der.toString('base64'), notAfterMs })
    }
    return issued
  }
}

const NO_ISSUER = 'could not fetch the CA certificate (was one set?): '
const SERIAL_BYTES = 20

/** Returns a positive number that always has the same length. */
const serialFrom = (bytes: Buffer): string => {
  const first = ((bytes[0] ?? 0) & 0x3f) | 0x40
  return Buffer.concat([Buffer.from([first]), bytes.subarray(1)]).toString('hex')
}

/** Returns the key of an issuer. Throws LogicalError 400 if there is none, or if the issuer does not have the usage. */
export const requireSigningKey = (authorities: Authorities, issuer: IssuerRecord, usage: Usage): KeyObject => {
  const key = authorities.keys.findById(issuer.keyId)
  if (!key) {
    throw invalid(`unable to fetch corresponding key for issuer ${issuer.id}; unable to use this issuer for signing`)
  }
  if (!issuer.usage.includes(usage)) {
    const [self, has] = [`[id:${issuer.id} / name:${issuer.name}]`, usageText(issuer.usage)]
    throw invalid(
      `error fetching CA certificate: error while attempting to use issuer ${issuer.id}: requested usage ${usage} for issuer ${self} but only had usage ${has}`,
    )
  }
  return keyObjectOf(key)
}
