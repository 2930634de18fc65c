import 'reflect-metadata'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { X509Certificate as SigningCertificate, X509Crl } from '@peculiar/x509'
import type { JsonObject } from '../../src/logical/json.js'
import { createPkiType } from '../../src/secrets/pki/backend.js'
import { BackendHarness, dataOf } from './backend-harness.js'

type Fields = Record<string, unknown>

/** One mount of the secrets engine pki without the rest of a server. */
export class PkiMount extends BackendHarness {
  constructor() {
    super(createPkiType().factory)
  }

  async data(path: string, body: JsonObject = {}): Promise<Fields> {
    return dataOf(await this.write(path, body)) as Fields
  }

  async shown(path: string): Promise<Fields> {
    return dataOf(await this.read(path)) as Fields
  }

  /** Creates a root with an EC key, which takes less time than an RSA key. */
  root(body: JsonObject = {}): Promise<Fields> {
    return this.data('root/generate/internal', { common_name: 'root.test', key_type: 'ec', ttl: '87600h', ...body })
  }

  /** Creates a role that allows subdomains of `example.com`, with EC keys. */
  role(name: string, body: JsonObject = {}): Promise<Fields> {
    const fields = { allowed_domains: 'example.com', allow_subdomains: true, key_type: 'ec', max_ttl: '720h' }
    return this.data(`roles/${name}`, { ...fields, ...body })
  }

  /** Returns the serial numbers of a revocation list in PEM, with colons, after a check of its signature. */
  async revokedIn(pem: unknown, issuer: unknown): Promise<string[]> {
    const crl = new X509Crl(String(pem))
    const isSigned = await crl.verify({ publicKey: new SigningCertificate(String(issuer)) })
    if (!isSigned) throw new Error('the signature of the revocation list is invalid')
    return crl.entries.map(({ serialNumber }) => (serialNumber.match(/../g) ?? []).join(':'))
  }
}

export const certificateIn = (data: Fields, field = 'certificate'): X509Certificate =>
  new X509Certificate(String(data[field]))

/** Returns true if the private key belongs to the certificate. */
export const isPair = (data: Fields): boolean =>
  certificateIn(data).checkPrivateKey(createPrivateKey(String(data.private_key)))
