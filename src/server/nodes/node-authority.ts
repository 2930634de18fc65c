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
import type { PrimaryCredentials, ReplicationTimes, ServerIdentity } from '../../replication/model/types.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { Facilities } from '../../base/facilities.js'
import { LogicalError } from '../../logical/errors.js'
import type { ClusterTransport, PrimaryConnection } from '../../replication/rpc/transport.js'
import type { LeaderRecord } from '../../storage/shared-log/shared-log.js'

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

const callerCredentials = async (
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

interface ActiveLinkOptions extends Pick<Facilities, 'clock' | 'random'> {
  readonly transport: ClusterTransport
  readonly times: ReplicationTimes
  /** Returns the CA; undefined if it cannot be read here. The last one stays valid. */
  readonly authority: () => NodeAuthority | undefined
  readonly certificateKeys: CertificateKeys | undefined
}

type Active = Pick<LeaderRecord, 'clusterAddress' | 'term'>

interface Link {
  readonly to: Active
  readonly connection: Promise<PrimaryConnection>
}

/**
 * The connection of a standby to the active node, opened on demand and kept for its term. A node that is active again in
 * another term may have lost power in between, and does not respond on an old connection.
 */
export class ActiveLink {
  readonly #options: ActiveLinkOptions
  readonly #stop = new AbortController()
  #link: Link | undefined
  #shown: { readonly serverName: string; readonly credentials: Promise<PrimaryCredentials> } | undefined

  constructor(options: ActiveLinkOptions) {
    this.#options = options
  }

  /** Returns the connection to the active node's cluster port. Rejects with a LogicalError if none can be made. */
  connect(to: Active): Promise<PrimaryConnection> {
    const { clusterAddress: address, term } = to
    if (this.#link?.to.clusterAddress === address && this.#link.to.term === term) return this.#link.connection
    this.#drop()
    const connection = this.#dial(address)
    const link = { to, connection }
    this.#link = link
    const forget = () => {
      if (this.#link === link) this.#link = undefined
    }
    connection.then(({ lost }) => lost.addEventListener('abort', forget, { once: true }), forget)
    return connection
  }

  close(): void {
    this.#stop.abort(new LogicalError('unavailable', 'the server is stopping'))
    this.#drop()
  }

  async #dial(address: string): Promise<PrimaryConnection> {
    const { transport, times } = this.#options
    return transport.connect(address, { credentials: await this.#credentials(), times, signal: this.#stop.signal })
  }

  #credentials(): Promise<PrimaryCredentials> {
    const { authority, random, clock, certificateKeys } = this.#options
    const known = authority()
    if (known && this.#shown?.serverName !== known.identity.serverName) {
      const credentials = callerCredentials(known, random, clock.now(), certificateKeys)
      const shown = { serverName: known.identity.serverName, credentials }
      this.#shown = shown
      credentials.catch(() => {
        if (this.#shown === shown) this.#shown = undefined
      })
    }
    if (!this.#shown) throw new LogicalError('unavailable', 'no other node of the cluster has been active yet')
    return this.#shown.credentials
  }

  #drop(): void {
    this.#link?.connection.then(
      (connection) => connection.close(),
      () => undefined,
    )
    this.#link = undefined
  }
}
