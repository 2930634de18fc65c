import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import { systemClock } from '../../src/base/clock.js'
import { certificatePem, privateKeyPem } from '../../src/crypto/pem.js'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const crypto = webcrypto as webcrypto.Crypto
const HOUR_MS = 3_600_000

interface Properties {
  readonly commonName?: string
  readonly units?: readonly string[]
  readonly names?: x509.JsonGeneralNames
  readonly extensions?: readonly x509.Extension[]
  /** True for an authority. */
  readonly isCa?: boolean
  readonly pathLength?: number
  /** Default: TLS clients. An empty list means no extension. */
  readonly uses?: readonly string[]
  /** In hex. Default: random. */
  readonly serial?: string
  /** Offsets from now in hours. */
  readonly from?: number
  readonly to?: number
}

/** A certificate for tests, with its key and its issuers. */
export class TestCertificate {
  readonly x509: x509.X509Certificate
  readonly #keys: webcrypto.CryptoKeyPair
  readonly privateKey: string
  readonly #issuer: TestCertificate | undefined

  private constructor(
    made: x509.X509Certificate,
    keys: webcrypto.CryptoKeyPair,
    key: string,
    issuer?: TestCertificate,
  ) {
    this.x509 = made
    this.#keys = keys
    this.privateKey = key
    this.#issuer = issuer
  }

  get der(): Buffer {
    return Buffer.from(this.x509.rawData)
  }

  get pem(): string {
    return certificatePem(this.der)
  }

  get isSelfSigned(): boolean {
    return this.#issuer === undefined
  }

  /** The certificate and its issuers up to the last one that is not self-signed, in PEM. */
  get chainPem(): string {
    const issuer = this.#issuer
    return this.pem + (issuer && !issuer.isSelfSigned ? issuer.chainPem : '')
  }

  static authority(commonName: string, more: Properties = {}): Promise<TestCertificate> {
    return TestCertificate.#make({ commonName, isCa: true, uses: [], ...more })
  }

  issue(properties: Properties = {}): Promise<TestCertificate> {
    return TestCertificate.#make(properties, this)
  }

  /** Returns a revocation list of this authority in PEM. */
  revoke(...revoked: readonly TestCertificate[]): Promise<string> {
    return this.revokeUntil(new Date(systemClock.now() + HOUR_MS), revoked)
  }

  /** Returns a revocation list in PEM with this time of the next list. */
  async revokeUntil(nextUpdate: Date | undefined, revoked: readonly TestCertificate[]): Promise<string> {
    const list = await x509.X509CrlGenerator.create(
      {
        issuer: this.x509.subject,
        signingAlgorithm: ALGORITHM,
        signingKey: this.#keys.privateKey,
        ...(nextUpdate && { nextUpdate }),
        entries: revoked.map(({ x509: { serialNumber } }) => ({ serialNumber })),
      },
      crypto,
    )
    return list.toString('pem').replaceAll(' CRL-', ' X509 CRL-')
  }

  static async #make(properties: Properties, issuer?: TestCertificate): Promise<TestCertificate> {
    const { commonName = 'client', units = [], names, extensions = [], isCa = false, pathLength } = properties
    const { uses = [x509.ExtendedKeyUsage.clientAuth], serial, from = -1, to = 1 } = properties
    const keys = (await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
    const now = systemClock.now()
    const { digitalSignature, keyCertSign, cRLSign } = x509.KeyUsageFlags
    const made = await x509.X509CertificateGenerator.create(
      {
        subject: [...(commonName === '' ? [] : [{ CN: [commonName] }]), ...units.map((unit) => ({ OU: [unit] }))],
        issuer: issuer ? issuer.x509.subject : [{ CN: [commonName] }],
        publicKey: keys.publicKey,
        signingKey: issuer ? issuer.#keys.privateKey : keys.privateKey,
        signingAlgorithm: ALGORITHM,
        ...(serial === undefined ? {} : { serialNumber: serial }),
        notBefore: new Date(now + from * HOUR_MS),
        notAfter: new Date(now + to * HOUR_MS),
        extensions: [
          new x509.BasicConstraintsExtension(isCa, pathLength, true),
          new x509.KeyUsagesExtension(isCa ? keyCertSign | cRLSign : digitalSignature, true),
          ...(uses.length > 0 ? [new x509.ExtendedKeyUsageExtension([...uses])] : []),
          ...(names ? [new x509.SubjectAlternativeNameExtension(names)] : []),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, crypto),
          ...(issuer ? [await x509.AuthorityKeyIdentifierExtension.create(issuer.#keys.publicKey, false, crypto)] : []),
          ...extensions,
        ],
      },
      crypto,
    )
    const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey))
    return new TestCertificate(made, keys, privateKeyPem(pkcs8), issuer)
  }
}

/** Returns an extension with an ASN.1 text (UTF8String). */
export const textExtension = (oid: string, text: string, isCritical = false): x509.Extension => {
  const content = Buffer.from(text)
  return new x509.Extension(oid, isCritical, Buffer.from([12, content.length, ...content]))
}
