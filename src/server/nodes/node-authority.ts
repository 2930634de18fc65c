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

/** The CA by which nodes of one cluster authenticate each other on their cluster ports. It is stored behind the barrier. */
export interface NodeAuthority {
  readonly identity: ServerIdentity
  readonly record: CaRecord
}

/** Returns the CA's signing certificate and key in DER. */
export const signerOf = ({ record }: NodeAuthority) => ({
  certificate: Buffer.from(record.certificate, 'base64'),
  privateKey: Buffer.from(record.privateKey, 'base64'),
})

/** Returns undefined before any node has been active. */
export const findAuthority = (storage: ReadStorage): NodeAuthority | undefined => {
  const record = readJson<CaRecord>(storage, KEYS.nodeAuthority)
  return record && { record, identity: serverIdentityOf(record) }
}

/** Returns the CA. The first active node creates it. */
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

/**
 * The certificates of the nodes' etcd members. The nodes' CA signs them as well as those of callers, so each has a common
 * name by which the cluster port distinguishes the two.
 */
interface Revoked {
  /** Hex. A serial number stays on the list for the lifetime of the cluster. */
  readonly serials: readonly string[]
  /** The certificate revocation list, as base64 of its DER. */
  readonly list: string
}

/**
 * Reads the certificates of removed nodes. The record is stored in plaintext, since sealed nodes need it too. Undefined
 * before the first removal.
 */
export const readRevoked = (storage: ReadStorage): Revoked | undefined => readJson<Revoked>(storage, KEYS.revokedNodes)

const PREFIX = 'etcd-'

export const memberCommonName = (serial: string): string => PREFIX + serial

/** Returns the serial number of a member's certificate; undefined for the common name of a caller. */
export const memberSerialOf = (commonName: string): string | undefined =>
  commonName.startsWith(PREFIX) ? commonName.slice(PREFIX.length) : undefined
