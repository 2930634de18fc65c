/** The paths that return certificates, chains and revocation lists. Most of them require no token. */
import { certificatePem, crlPem } from '../../crypto/pem.js'
import { definePath, listed, type PathSpec } from '../../logical/backend.js'
import { string } from '../../logical/fields.js'
import type { PathRules } from '../../logical/path-rules.js'
import type { Response } from '../../logical/request.js'
import type { Authorities } from './authorities.js'
import { type CertificateStore, parseSerial } from './certificate-store.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import { certificateOf, pemOf } from './records.js'
import { revocationTimes } from './responses.js'
import type { Revocation } from './revocation.js'

const SERIAL = { serial: string('Serial number with colons or hyphens, or `ca`, `ca_chain` or `crl`.') } as const
const ISSUER = { issuer_ref: string('Issuer: `default`, an ID or a name.') } as const

const OPEN: PathRules = { access: 'open' }

/** The paths that require no token, those that can create a lease, and those that require `sudo`. */
export const PATH_RULES: Readonly<Record<string, PathRules>> = {
  ...Object.fromEntries(
    ['ca', 'ca/pem', 'ca_chain', 'crl', 'crl/pem', 'cert/*', 'issuers', 'issuers/']
      .concat(['json', 'der', 'pem', 'crl', 'crl/der', 'crl/pem'].map((end) => `issuer/+/${end}`))
      .map((path) => [path, OPEN]),
  ),
  ...Object.fromEntries(
    ['issue/+', 'sign/+', 'sign-verbatim/+']
      .flatMap((path) => [path, `issuer/+/${path}`])
      .map((path) => [path, { createsLease: true }]),
  ),
  root: { access: 'sudo' },
  'root/sign-self-issued': { access: 'sudo' },
}

const TYPES = {
  certificate: 'application/pkix-cert',
  chain: 'application/pem-certificate-chain',
  crl: 'application/pkix-crl',
  crlPem: 'application/x-pem-file',
} as const

/** Returns a body without an envelope; 204 without content. */
const rawResponse = (contentType: string, body: Buffer | string | undefined): Response =>
  body === undefined || body.length === 0
    ? { status: 204, raw: { contentType, body: '' } }
    : { raw: { contentType, body } }

export const fetchPaths = (authorities: Authorities, store: CertificateStore, revocation: Revocation): PathSpec[] => {
  const { issuers } = authorities

  /** Returns the PEM of the chain of an issuer, each certificate without a line break at its end. */
  const chainPem = async (reference: string): Promise<string> => {
    const issuer = await issuers.require(reference)
    return (await authorities.chainOf(issuer)).map((one) => pemOf(one).trim()).join('\n')
  }

  const crlOf = async (reference: string): Promise<Buffer | undefined> =>
    revocation.listOf(await issuers.require(reference))

  /** Returns what `cert/SERIAL` refers to, as DER. A missing default issuer has no content. */
  const findRaw = async (serial: string): Promise<{ der: Buffer; kind: 'certificate' | 'crl' } | undefined> => {
    if (serial === 'crl') {
      const issuer = await issuers.find(DEFAULT_REFERENCE)
      const der = issuer && (await revocation.listOf(issuer))
      return der && { der, kind: 'crl' }
    }
    if (serial === 'ca') {
      const issuer = await issuers.find(DEFAULT_REFERENCE)
      return issuer && { der: certificateOf(issuer), kind: 'certificate' }
    }
    const found = store.find('issued', parseSerial(serial)) ?? store.find('revoked', parseSerial(serial))
    return found && { der: Buffer.from(found.certificate, 'base64'), kind: 'certificate' }
  }

  const rawDer = async (serial: string): Promise<Response> => {
    const found = await findRaw(serial)
    return rawResponse(found ? TYPES[found.kind] : TYPES.certificate, found?.der)
  }

  const rawPem = async (serial: string): Promise<Response> => {
    const found = await findRaw(serial)
    if (found?.kind === 'crl') return rawResponse(TYPES.crlPem, crlPem(found.der).trim())
    return rawResponse(TYPES.chain, found && certificatePem(found.der).trim())
  }

  const rawChain = async (): Promise<Response> => {
    const issuer = await issuers.find(DEFAULT_REFERENCE)
    return rawResponse(TYPES.certificate, issuer && (await chainPem(issuer.id)))
  }

  const showCertificate = async (serial: string): Promise<Response | undefined> => {
    const needsIssuer = ['ca', 'ca_chain', 'crl'].includes(serial)
    if (needsIssuer) await issuers.requireNamed(DEFAULT_REFERENCE, '')
    if (serial === 'ca_chain') {
      const chain = await chainPem(DEFAULT_REFERENCE)
      return { data: { certificate: chain, ca_chain: chain, ...NOT_REVOKED } }
    }
    const found = await findRaw(serial)
    if (!found) return undefined
    const text = found.kind === 'crl' ? crlPem(found.der) : certificatePem(found.der)
    const revoked = store.find('revoked', parseSerial(serial))
    const issuer = revoked && (await issuers.all()).find(({ authority }) => authority === revoked.authority)
    const state = revoked ? revocationTimes(revoked.revokedMs) : NOT_REVOKED
    return { data: { certificate: text.trim(), ...state, ...(issuer && { issuer_id: issuer.id }) } }
  }

  const issuerDer = async (reference: string) => certificateOf(await issuers.require(reference))

  return [
    definePath('ca', {}, 'The certificate of the default issuer as DER.', { read: () => rawDer('ca') }),
    definePath('ca/pem', {}, 'The certificate of the default issuer as PEM.', { read: () => rawPem('ca') }),
    definePath('ca_chain', {}, 'The chain of the default issuer as PEM.', { read: rawChain }),
    definePath('crl', {}, 'The revocation list of the default issuer as DER.', { read: () => rawDer('crl') }),
    definePath('crl/pem', {}, 'The revocation list of the default issuer as PEM.', { read: () => rawPem('crl') }),
    definePath('certs/?', {}, 'List the serial numbers of certificates that this cluster has issued.', {
      list: () => listed(store.serials('issued')),
    }),
    definePath('certs/revoked/?', {}, 'List the serial numbers of certificates that this cluster has revoked.', {
      list: () => listed(store.serials('revoked')),
    }),
    definePath('cert/:serial', SERIAL, 'Read a certificate, a chain or a revocation list.', {
      read: ({ values }) => showCertificate(values.serial),
    }),
    definePath('cert/:serial/raw', SERIAL, 'A certificate or a revocation list as DER.', {
      read: ({ values }) => (values.serial === 'ca_chain' ? rawChain() : rawDer(values.serial)),
    }),
    definePath('cert/:serial/raw/pem', SERIAL, 'A certificate or a revocation list as PEM.', {
      read: ({ values }) => (values.serial === 'ca_chain' ? rawChain() : rawPem(values.serial)),
    }),
    definePath('issuer/:issuer_ref/json', ISSUER, 'The certificate and the chain of an issuer.', {
      read: async ({ values }) => {
        const issuer = await issuers.require(values.issuer_ref)
        const chain = (await authorities.chainOf(issuer)).map(pemOf)
        return {
          data: {
            certificate: pemOf(issuer),
            ca_chain: chain,
            issuer_id: issuer.id,
            issuer_name: issuer.name,
          },
        }
      },
    }),
    definePath('issuer/:issuer_ref/der', ISSUER, 'The certificate of an issuer as DER.', {
      read: async ({ values }) => rawResponse(TYPES.certificate, await issuerDer(values.issuer_ref)),
    }),
    definePath('issuer/:issuer_ref/pem', ISSUER, 'The certificate of an issuer as PEM.', {
      read: async ({ values }) => rawResponse(TYPES.chain, certificatePem(await issuerDer(values.issuer_ref))),
    }),
    definePath('issuer/:issuer_ref/crl', ISSUER, 'The revocation list of an issuer.', {
      read: async ({ values }) => {
        const crl = await crlOf(values.issuer_ref)
        return crl && { data: { crl: crlPem(crl).trim() } }
      },
    }),
    definePath('issuer/:issuer_ref/crl/der', ISSUER, 'The revocation list of an issuer as DER.', {
      read: async ({ values }) => rawResponse(TYPES.crl, await crlOf(values.issuer_ref)),
    }),
    definePath('issuer/:issuer_ref/crl/pem', ISSUER, 'The revocation list of an issuer as PEM.', {
      read: async ({ values }) => {
        const crl = await crlOf(values.issuer_ref)
        return rawResponse(TYPES.crlPem, crl && crlPem(crl).trim())
      },
    }),
  ]
}

const NOT_REVOKED = { revocation_time: 0, revocation_time_rfc3339: '' } as const
