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

/**
 * The CA with which the nodes of one cluster authenticate each other on their cluster ports. It is stored behind the
 * barrier.
 */
export interface NodeAuthority {
  readonly identity: ServerIdentity
  readonly record: CaRecord
}

/** Returns the certificate and the private key of the CA in DER format. */
export const signerOf = ({ record }: NodeAuthority) => ({
  certificate: Buffer.from(record.certificate, 'base64'),
  privateKey: Buffer.from(record.privateKey, 'base64'),
})

/** Returns the CA, or undefined if no node has been active yet. */
export const findAuthority = (storage: ReadStorage): NodeAuthority | undefined => {
  const record = readJson<CaRecord>(storage, KEYS.nodeAuthority)
  return record && { record, identity: serverIdentityOf(record) }
}

/** Returns the CA. Creates it if it does not exist, that is, on the first active node. */
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
 * The revoked certificates of the etcd members of removed nodes. The CA of the nodes signs certificates of etcd members
 * and of callers. The cluster port distinguishes the two by the common name.
 */
interface Revoked {
  /** Revoked serial numbers in hex. They stay on the list for the lifetime of the cluster. */
  readonly serials: readonly string[]
  /** The certificate revocation list: DER in base64. */
  readonly list: string
}

/**
 * Returns the revoked certificates of removed nodes, or undefined before the first removal. The record is stored
 * unencrypted, because sealed nodes need it too.
 */
export const readRevoked = (storage: ReadStorage): Revoked | undefined => readJson<Revoked>(storage, KEYS.revokedNodes)

const PREFIX = 'etcd-'

export const memberCommonName = (serial: string): string => PREFIX + serial

/** Returns the serial number in a member's common name, or undefined for the common name of a caller. */
export const memberSerialOf = (commonName: string): string | undefined =>
  commonName.startsWith(PREFIX) ? commonName.slice(PREFIX.length) : undefined

interface ActiveLinkOptions extends Pick<Facilities, 'clock' | 'random'> {
  readonly transport: ClusterTransport
  readonly times: ReplicationTimes
  /** Returns the CA, or undefined if this node cannot read it. The last known CA then stays in use. */
  readonly authority: () => NodeAuthority | undefined
  readonly certificateKeys: CertificateKeys | undefined
}

type Active = Pick<LeaderRecord, 'clusterAddress' | 'term'>

interface Link {
  readonly to: Active
  readonly connection: Promise<PrimaryConnection>
}

/**
 * The connection of a standby to the active node. It is opened on demand, for one term. A node that is active again in
 * a later term may have lost power in between, and then does not respond on the old connection.
 */
export class ActiveLink {
  readonly #options: ActiveLinkOptions
  readonly #stop = new AbortController()
  #link: Link | undefined
  #shown: { readonly serverName: string; readonly credentials: Promise<PrimaryCredentials> } | undefined

  constructor(options: ActiveLinkOptions) {
    this.#options = options
  }

  /** Resolves to a connection to the active node's cluster port. Rejects with `LogicalError` if this fails. */
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
