import { isSameSecret } from '../../crypto/constant-time.js'
import { issueCertificate } from '../../crypto/certificates.js'
import { hmacSha256 } from '../../crypto/digest.js'
import { certificatePem, privateKeyPem } from '../../crypto/pem.js'
import { LIMITS } from '../../base/limits.js'
import { type Network, parseHostPort } from '../../base/network.js'
import { messageOf } from '../../base/printable.js'
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
import { findPeer, type PeerRecord, writePeer } from './membership.js'

/** Minimum validity of a challenge in ms. A challenge is valid for at most twice this time. */
const CHALLENGE_MS = 600_000
/** Time in ms within which the etcd of an admitted server must start. */
const START_MS = 10_000
const DIAL_MS = 1000

/** Admits servers to this cluster. Runs on the active node. */
export class JoinServer {
  readonly #context: PeersContext
  /** Deletes the records of nodes without an etcd member, and revokes their certificates. */
  readonly #revokeRemoved: () => Promise<void>
  /**
   * The key from which all challenges are derived. The server stores no challenges, so many requests cannot displace
   * the challenge of another server.
   */
  readonly #key: Buffer
  /** The number of admissions per server ID. Each admission invalidates the earlier challenges of the server. */
  readonly #admissions = new Map<string, number>()
  /** The time at which each etcd member without a vote was added, in monotonic ms, by member ID. */
  readonly #learners = new Map<string, number>()

  constructor(context: PeersContext, revokeRemoved: () => Promise<void>) {
    this.#context = context
    this.#revokeRemoved = revokeRemoved
    this.#key = context.options.random.bytes(SECRET_BYTES)
  }

  /**
   * Returns a secret that only a server with the shares or the seal can decrypt, and the seal configuration. Rejects
   * with LogicalError 503 if this cluster is sealed.
   */
  async challenge(serverId: string): Promise<{ challenge: Buffer; type: string; config: SealConfig }> {
    const { keys, rootKey } = this.#context.runtime.seal
    if (!rootKey) throw new LogicalError('sealed', 'Vault is sealed')
    if (!keys.config) throw new Error('the cluster is open, but has no seal configuration')
    const challenge = await keys.sealChallenge(this.#secretOf(serverId, this.#period), rootKey)
    return { challenge, type: keys.type, config: keys.config }
  }

  /**
   * Returns the secret of the server's challenge. Throws LogicalError 403 if the answer is wrong or the challenge has
   * expired.
   */
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

  /**
   * Checks that the server can become a node. Removes etcd members that never became voters. Rejects with LogicalError
   * 400 if a voter already has this ID or address, and 503 if another server is joining.
   */
  async requireNew({ nodeId, peerAddress }: PeerRecord): Promise<void> {
    const { etcd, options, storage } = this.#context
    const known = findPeer(storage, nodeId)
    const members = (await etcd?.members.list()) ?? []
    const url = peerUrl(known?.peerAddress ?? peerAddress)
    const member = members.find(({ name, peerURLs }) => name === memberName(nodeId) || peerURLs.includes(url))
    if (nodeId !== options.config.storage.nodeId && (!member || member.isLearner)) {
      // The server was admitted before, but its member never became a voter.
      if (member) await etcd?.members.remove(member.ID)
      for (const one of members) if (one.isLearner && one !== member) await this.#removeStale(one)
      await this.#revokeRemoved()
      return requireRevocable(this.#context.runtime)
    }
    const other = member && member.name !== '' ? nodeIdOf(member.name) : nodeId
    throw invalid(
      `the server "${other}" at ${url} is already a node of this cluster. Set another node_id and address for the new ` +
        'server, or first remove the old server (operator raft remove-peer)',
    )
  }

  /**
   * Removes a stale etcd member without a vote, since etcd allows only one. Rejects with LogicalError 503 if the server
   * of this member may still start.
   */
  async #removeStale({ ID, name, peerURLs }: Member): Promise<void> {
    const { etcd, options } = this.#context
    const { clock, network, log } = options
    const nowMs = clock.monotonic()
    const sinceMs = this.#learners.get(ID) ?? nowMs
    this.#learners.set(ID, sinceMs)
    const addresses = peerURLs.map((url) => url.replace(peerUrl(''), ''))
    if (nowMs - sinceMs < START_MS || (await isReachable(network, addresses))) {
      const server = name === '' ? addresses.join(', ') : nodeIdOf(name)
      throw new LogicalError('unavailable', `another server is joining (${server}): try again later`)
    }
    log.warn('removing an admitted server that did not start', { addresses })
    await etcd?.members.remove(ID)
    this.#learners.delete(ID)
  }

  /**
   * Adds the server to etcd as a member without a vote. Returns the data for the server, encrypted with its secret.
   * Rejects with LogicalError 503 if this cluster is sealed.
   */
  async admit(peer: PeerRecord, secret: Buffer, etcd: EtcdProcess, token: string): Promise<string> {
    const { rootKey } = this.#context.runtime.seal
    if (!rootKey) throw new LogicalError('sealed', 'Vault is sealed')
    const { serial: certificate, ...tls } = await this.certify(peer.peerAddress)
    const { ID } = await etcd.members.addLearner(peerUrl(peer.peerAddress))
    // The member is added before the record. A record without a member would mean that the node was removed.
    await writePeer(this.#context.storage, { ...peer, certificate })
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
    // The first digit is 7, so that the number is positive in every encoding.
    const serial = `7${random.bytes(16).toString('hex').slice(1)}`
    const tls = await memberTls(authority, { peerAddress, serial, nowMs: clock.now() })
    return { ...tls, serial, revoked: readRevoked(storage)?.list }
  }
}

/** Returns true if at least one of these addresses accepts connections. */
const isReachable = async (network: Network, addresses: readonly string[]): Promise<boolean> => {
  for (const address of addresses) {
    const socket = await network.dial(address, { timeoutMs: DIAL_MS }).catch(() => undefined)
    socket?.destroy()
    if (socket) return true
  }
  return false
}

/** Throws LogicalError 400 if etcd is not installed on this server. A cluster of several nodes requires etcd. */
export const requireEtcd = ({ own }: ServerConfig): void => {
  try {
    findEtcd(own.etcdPath)
  } catch (error) {
    throw invalid(`no server can join this server: ${messageOf(error)}`)
  }
}

/** Throws LogicalError 503 if this server is sealed, or if the first copy of the primary is incomplete. */
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

/** Throws LogicalError 400 if the revocation list is full, so that a further certificate could not be revoked. */
const requireRevocable = ({ barrier }: Runtime): void => {
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
