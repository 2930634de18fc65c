import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import { type CertificateKeys, createAuthority, issueCertificate } from '../../crypto/certificates.js'
import { certificatePem, privateKeyPem } from '../../crypto/pem.js'
import type { CaRecord, Credentials } from '../model/state.js'
import type { PrimaryCredentials, ServerIdentity } from '../model/types.js'

/**
 * Creates the certificate authority (CA) of one primary for one kind of replication. Secondaries send the name of the
 * CA as TLS server name, which selects the kind of replication. The CA issues the client certificates of secondaries.
 * Only DR secondaries of the primary receive the private key of the CA.
 */
export const createCa = async (random: Random, nowMs: number, keys?: CertificateKeys): Promise<CaRecord> => {
  const name = `rep-${uuid(random)}`
  const made = await createAuthority({ name, nowMs }, keys)
  return { name, certificate: made.certificate.toString('base64'), privateKey: made.privateKey.toString('base64') }
}

interface ClientCertificate {
  readonly commonName: string
  /** DER. */
  readonly certificate: Buffer
  /** PKCS 8 DER. */
  readonly privateKey: Buffer
}

/** Issues a client certificate for a secondary. Its common name is a new UUID. */
export const issueClientCertificate = async (
  ca: CaRecord,
  random: Random,
  nowMs: number,
  keys?: CertificateKeys,
): Promise<ClientCertificate> => {
  const commonName = uuid(random)
  const authority = { certificate: decode(ca.certificate), privateKey: decode(ca.privateKey) }
  return { commonName, ...(await issueCertificate(authority, { name: commonName, nowMs }, keys)) }
}

/** Returns the server name, certificate and key of the cluster port for the replication kind of this CA. */
export const serverIdentityOf = (ca: CaRecord): ServerIdentity => ({
  serverName: ca.name,
  certificate: certificatePem(decode(ca.certificate)),
  privateKey: privateKeyPem(decode(ca.privateKey)),
})

/** Returns the client certificate and key of a secondary as PEM, with the CA and the TLS server name of its primary. */
export const primaryCredentialsOf = (credentials: Credentials): PrimaryCredentials => ({
  serverName: credentials.serverName,
  caCertificate: certificatePem(decode(credentials.caCertificate)),
  certificate: certificatePem(decode(credentials.certificate)),
  privateKey: privateKeyPem(decode(credentials.privateKey)),
})

const decode = (base64: string): Buffer => Buffer.from(base64, 'base64')
