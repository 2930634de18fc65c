import type { Random } from '../../base/random.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import { putJson, readJson, type ReadStorage, type Storage } from '../../logical/storage.js'
import {
  createCa,
  issueClientCertificate,
  primaryCredentialsOf,
  serverIdentityOf,
} from '../../replication/credentials/ca.js'
import type { CaRecord } from '../../replication/model/state.js'
import type { PrimaryCredentials, ServerIdentity } from '../../replication/model/types.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** The authority by which the nodes of one cluster know one another on their cluster ports; it lies behind the barrier. */
export interface NodeAuthority {
  /** Shown by the active node. */
  readonly identity: ServerIdentity
  readonly record: CaRecord
}

/** DER of the certificate and the key of the authority, which sign. */
export const signerOf = ({ record }: NodeAuthority) => ({
  certificate: Buffer.from(record.certificate, 'base64'),
  privateKey: Buffer.from(record.privateKey, 'base64'),
})

/** Undefined before a node was active for the first time. */
export const findAuthority = (storage: ReadStorage): NodeAuthority | undefined => {
  const record = readJson<CaRecord>(storage, KEYS.nodeAuthority)
  return record && { record, identity: serverIdentityOf(record) }
}

/** Made by the first node that is active. */
export const ensureAuthority = async (
  storage: Storage,
  random: Random,
  nowMs: number,
  keys?: CertificateKeys,
): Promise<NodeAuthority> => {
  const known = findAuthority(storage)
  if (known) return known
  const record = await createCa(random, nowMs, keys)
  await storage.write((tx) => putJson(tx, KEYS.nodeAuthority, record))
  return { record, identity: serverIdentityOf(record) }
}

/** What a node shows when it calls another one. */
export const callerCredentials = async (
  { record }: NodeAuthority,
  random: Random,
  nowMs: number,
  keys?: CertificateKeys,
): Promise<PrimaryCredentials> => {
  const { certificate, privateKey } = await issueClientCertificate(record, random, nowMs, keys)
  return primaryCredentialsOf({
    serverName: record.name,
    caCertificate: record.certificate,
    certificate: certificate.toString('base64'),
    privateKey: privateKey.toString('base64'),
    primaryAddresses: [],
  })
}
