import { isSameSecret } from '../../crypto/constant-time.js'
import { issueCertificate } from '../../crypto/certificates.js'
import { hmacSha256 } from '../../crypto/digest.js'
import { certificatePem, privateKeyPem } from '../../crypto/pem.js'
import { LIMITS } from '../../base/limits.js'
import { type Network, parseHostPort } from '../../base/network.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { SealConfig } from '../../seal/config.js'
import type { Member } from '../../storage/shared-log/etcd/etcd-api.js'
import type { ServerConfig } from '../config/config.js'
import {
  ensureAuthority,
  memberCommonName,
  type NodeAuthority,
  readRevoked,
  signerOf,
} from '../nodes/node-authority.js'
import type { Runtime } from '../runtime/runtime.js'
import {
  type EtcdProcess,
  findEtcd,
  type IssuedTls,
  memberName,
  type MemberTls,
  nodeIdOf,
  peerUrl,
} from './etcd-process.js'
import type { PeersContext } from './peers-context.js'
import { answerTo, sealJoinResponse, SECRET_BYTES } from './proof.js'
import { findPeer, keepPeer, type PeerRecord } from './membership.js'

/** Minimum validity of a challenge in ms; the maximum is twice as long. */
const CHALLENGE_MS = 600_000
/** Time in ms for an admitted server's etcd to start. */
const START_MS = 10_000
const DIAL_MS = 1000

export class JoinServer {
  readonly #context: PeersContext
  /** Deletes the records of nodes without an etcd member, and revokes their certificates. */
  readonly #dismissGone: () => Promise<void>
  /** The key of all challenges. Challenges are not stored, so many requests cannot evict the challenge of another server. */
  readonly #key: Buffer
  /** The number of admissions of each server. An admission invalidates the server's earlier challenges. */
  readonly #admissions = new Map<string, number>()
  readonly #learners = new Map<string, number>()

  constructor(context: PeersContext, dismissGone: () => Promise<void>) {
    this.#context = context
    this.#dismissGone = dismissGone
    this.#key = context.options.random.bytes(SECRET_BYTES)
  }

  /** Returns a secret that only a server with the shares or the seal can decrypt, and the configuration of the seal. */
  async challenge(serverId: string): Promise<{ challenge: Buffer; type: string; config: SealConfig }> {
    const { keys, rootKey } = this.#context.runtime.seal
    if (!rootKey) throw new LogicalError('sealed', 'Vault is sealed')
    if (!keys.config) throw new Error('an open cluster without a seal')
    const challenge = await keys.sealChallenge(this.#secretOf(serverId, this.#period), rootKey)
    return { challenge, type: keys.type, config: keys.config }
  }

  /** Returns the secret of the server's challenge. Throws LogicalError 403 if the answer is wrong or too late. */
  requireProof(peer: PeerRecord, answer: string): Buffer {
    const secrets = [this.#period, this.#period - 1].map((period) => this.#secretOf(peer.nodeId, period))
    const secret = secrets.find((one) => isSameSecret(Buffer.from(answerTo(one, peer)), Buffer.from(answer)))
    if (!secret) throw new LogicalError('permission-denied', 'the response to the challenge is wrong or expired')
    return secret
  }

  get #period(): number {
    return Math.floor(this.#context.options.clock.monotonic() / CHALLENGE_MS)
  }

  #secretOf(serverId: string, period: number): Buffer {
    return hmacSha256(this.#key, JSON.stringify([serverId, period, this.#admissions.get(serverId) ?? 0]))
  }

  /** Throws LogicalError 400 if another server has this ID or address. Removes members that never became voters. */
  async requireNew({ nodeId, peerAddress }: PeerRecord): Promise<void> {
    const { etcd, options, storage } = this.#context
    const known = findPeer(storage, nodeId)
    const members = (await etcd?.members.list()) ?? []
    const url = peerUrl(known?.peerAddress ?? peerAddress)
    const member = members.find(({ name, peerURLs }) => name === memberName(nodeId) || peerURLs.includes(url))
    if (nodeId !== options.config.storage.nodeId && (!member || member.isLearner)) {
      // It was admitted before, but never became a voter.
      if (member) await etcd?.members.remove(member.ID)
      for (const one of members) if (one.isLearner && one !== member) await this.#makeRoom(one)
      await this.#dismissGone()
      return requireFree(this.#context.runtime)
    }
    const other = member && member.name !== '' ? nodeIdOf(member.name) : nodeId
    throw invalid(
      `the server "${other}" at ${url} is already a node of this cluster. Set another node_id and address for the new server, or ` +
        'first remove the old server (operator raft remove-peer)',
    )
  }

  /**
   * Removes a stale member without a vote, since etcd allows only one such member. Throws LogicalError 503 if its server may
   * still start.
   */
  async #makeRoom({ ID, name, peerURLs }: Member): Promise<void> {
    const { etcd, options } = this.#context
    const { clock, network, log } = options
    const nowMs = clock.monotonic()
    const sinceMs = this.#learners.get(ID) ?? nowMs
    this.#learners.set(ID, sinceMs)
    const addresses = peerURLs.map((url) => url.replace(peerUrl(''), ''))
    if (nowMs - sinceMs < START_MS || (await isThere(network, addresses))) {
      const server = name === '' ? addresses.join(', ') : nodeIdOf(name)
      throw new LogicalError('unavailable', `another server is joining (${server}): try again later`)
    }
    log.warn('an admitted server did not start and was removed', { addresses })
    await etcd?.members.remove(ID)
    this.#learners.delete(ID)
  }

  /** Adds the server as a member without a vote. Returns the data it needs, encrypted with its secret. */
  async admit(peer: PeerRecord, secret: Buffer, etcd: EtcdProcess, token: string): Promise<string> {
    const { rootKey } = this.#context.runtime.seal
    if (!rootKey) throw new LogicalError('sealed', 'Vault is sealed')
    const { serial: certificate, ...tls } = await this.certify(peer.peerAddress)
    const { ID } = await etcd.members.addLearner(peerUrl(peer.peerAddress))
    // Adds the member before the record: a record without a member means that the node was removed.
    await keepPeer(this.#context.storage, { ...peer, certificate })
    this.#learners.set(ID, this.#context.options.clock.monotonic())
    const members = await etcd.members.list()
    const own = (url: string) => url === peerUrl(peer.peerAddress)
    const initialCluster = members
      .flatMap(({ ID, name, peerURLs }) =>
        peerURLs.map((url) => `${own(url) ? memberName(peer.nodeId) : name || `m${ID}`}=${url}`),
      )
      .join(',')
    this.#admissions.set(peer.nodeId, (this.#admissions.get(peer.nodeId) ?? 0) + 1)
    return sealJoinResponse(this.#context.options.random, secret, {
      ...tls,
      initialCluster,
      token,
      rootKey: rootKey.toString('base64'),
    })
  }

  /** Issues a member's certificate, signed by the nodes' CA. */
  async certify(peerAddress: string): Promise<IssuedTls> {
    const { storage, options } = this.#context
    const { random, clock } = options
    const authority = await ensureAuthority(storage, random, clock.now())
    // Begins with 7, so that the number is positive in every encoding.
    const serial = `7${random.bytes(16).toString('hex').slice(1)}`
    const tls = await memberTls(authority, { peerAddress, serial, nowMs: clock.now() })
    return { ...tls, serial, revoked: readRevoked(storage)?.list }
  }
}

/** Returns whether any of these addresses accepts connections. */
const isThere = async (network: Network, addresses: readonly string[]): Promise<boolean> => {
  for (const address of addresses) {
    const socket = await network.dial(address, { timeoutMs: DIAL_MS }).catch(() => undefined)
    socket?.destroy()
    if (socket) return true
  }
  return false
}

/** Throws LogicalError 400 if the etcd binary, which other nodes require, is missing. */
export const requireEtcd = ({ own }: ServerConfig): void => {
  try {
    findEtcd(own.etcdPath)
  } catch (error) {
    throw invalid(`no server can join this one: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Throws LogicalError if the cluster cannot admit servers in its current state. */
export const requireJoinable = ({ cluster }: Runtime): void => {
  if (!cluster) throw new LogicalError('sealed', 'Vault is sealed')
  const { dr, performance } = cluster.replication.view.healthModes
  if ([dr, performance].includes('bootstrapping')) {
    throw new LogicalError(
      'unavailable',
      'this cluster has not finished its first copy of the primary: try again later',
    )
  }
}

/**
 * Throws LogicalError 400 if the revocation list is full, so that the certificate of a further node could not be revoked.
 */
const requireFree = ({ barrier }: Runtime): void => {
  if ((readRevoked(barrier)?.serials.length ?? 0) >= LIMITS.revokedNodesMax)
    throw invalid(`no server can join this cluster: the maximum of ${LIMITS.revokedNodesMax} removed nodes is reached`)
}

interface MemberSubject {
  readonly peerAddress: string
  readonly serial: string
  readonly nowMs: number
}

const memberTls = async (authority: NodeAuthority, subject: MemberSubject): Promise<MemberTls> => {
  const { peerAddress, serial, nowMs } = subject
  const { host } = parseHostPort(peerAddress)
  const signer = signerOf(authority)
  const issued = await issueCertificate(signer, {
    name: memberCommonName(serial),
    nowMs,
    otherHosts: [host, 'localhost', '127.0.0.1'],
    serialNumber: serial,
  })
  return {
    ca: certificatePem(signer.certificate),
    certificate: certificatePem(issued.certificate),
    privateKey: privateKeyPem(issued.privateKey),
  }
}
