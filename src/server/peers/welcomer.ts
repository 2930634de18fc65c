import { isSameSecret } from '../../crypto/constant-time.js'
import { issueCertificate } from '../../crypto/certificates.js'
import { certificatePem, privateKeyPem } from '../../crypto/pem.js'
import { parseHostPort } from '../../base/network.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { SealConfig } from '../../seal/config.js'
import { ensureAuthority, type NodeAuthority } from '../nodes/node-authority.js'
import type { Runtime } from '../runtime/runtime.js'
import { memberName, type MemberTls, nodeIdOf, type OwnEtcd, peerUrl } from './own-etcd.js'
import type { PeersOptions } from './peers-options.js'
import { answerTo, SECRET_BYTES, sealWelcome } from './proof.js'
import { findPeer, keepPeer, type PeerRecord } from './roster.js'

interface WelcomerOptions extends PeersOptions {
  readonly runtime: () => Runtime
}

/** How many servers may be about to join, and for how long each. */
const CHALLENGES_MAX = 64
const CHALLENGE_MS = 600_000

/** What the active node does with servers that ask to be let in. */
export class Welcomer {
  readonly #options: WelcomerOptions
  readonly #challenges = new Map<string, { readonly secret: Buffer; readonly untilMs: number }>()

  constructor(options: WelcomerOptions) {
    this.#options = options
  }

  /** A secret that only who has the shares, or the seal, can read; and how the shares are made. */
  async challenge(serverId: string): Promise<{ challenge: Buffer; type: string; config: SealConfig }> {
    const { random, clock, runtime } = this.#options
    const { keys } = runtime().seal
    if (!keys.config) throw new Error('an open cluster without a seal')
    const secret = random.bytes(SECRET_BYTES)
    const challenge = await keys.sealChallenge(secret)
    this.#forgetOld()
    this.#challenges.delete(serverId)
    this.#challenges.set(serverId, { secret, untilMs: clock.monotonic() + CHALLENGE_MS })
    return { challenge, type: keys.type, config: keys.config }
  }

  /** The secret of the server's challenge. Throws LogicalError 403 where the answer is not its; 400 where there is none. */
  requireProof(serverId: string, answer: string): Buffer {
    this.#forgetOld()
    const known = this.#challenges.get(serverId)
    if (!known) throw invalid(`no challenge is open for the server "${serverId}"`)
    if (!isSameSecret(Buffer.from(answerTo(known.secret, serverId)), Buffer.from(answer))) {
      this.#challenges.delete(serverId)
      throw new LogicalError('permission-denied', 'the answer to the challenge is wrong')
    }
    return known.secret
  }

  /** Throws LogicalError 400 where another server has its id or its address. */
  async requireNew({ nodeId, peerAddress }: PeerRecord, etcd: OwnEtcd | undefined): Promise<void> {
    const { config, runtime } = this.#options
    const known = findPeer(runtime().barrier.view(''), nodeId)
    const members = (await etcd?.members.list()) ?? []
    const url = peerUrl(known?.peerAddress ?? peerAddress)
    const member = members.find(({ name, peerURLs }) => name === memberName(nodeId) || peerURLs.includes(url))
    if (nodeId !== config.storage.nodeId && (!member || member.isLearner)) {
      // It was let in before, and has never come so far as to count.
      if (member) await etcd?.members.remove(member.ID)
      return
    }
    const other = member && member.name !== '' ? nodeIdOf(member.name) : nodeId
    throw invalid(
      `the server "${other}" at ${url} is a node of this cluster already: give the new one another node_id and address, or ` +
        'remove the old one first (operator raft remove-peer)',
    )
  }

  /** Makes it a member that has no vote yet; what it needs, encrypted with its secret. */
  async admit(peer: PeerRecord, secret: Buffer, etcd: OwnEtcd, token: string): Promise<string> {
    const { random, runtime } = this.#options
    const { barrier, seal } = runtime()
    const { rootKey } = seal
    if (!rootKey) throw new LogicalError('sealed', 'Vault is sealed')
    const tls = await this.certify(peer.peerAddress)
    await keepPeer(barrier.view(''), peer)
    await etcd.members.addLearner(peerUrl(peer.peerAddress))
    const members = await etcd.members.list()
    const own = (url: string) => url === peerUrl(peer.peerAddress)
    const initialCluster = members
      .flatMap(({ ID, name, peerURLs }) =>
        peerURLs.map((url) => `${own(url) ? memberName(peer.nodeId) : name || `m${ID}`}=${url}`),
      )
      .join(',')
    this.#challenges.delete(peer.nodeId)
    return sealWelcome(random, secret, { ...tls, initialCluster, token, rootKey: rootKey.toString('base64') })
  }

  /** The certificate of a member, of the authority by which nodes know one another. */
  async certify(peerAddress: string): Promise<MemberTls> {
    const { random, clock, runtime } = this.#options
    const authority = await ensureAuthority(runtime().barrier.view(''), random, clock.now())
    return memberTls(authority, peerAddress, clock.now())
  }

  #forgetOld(): void {
    const nowMs = this.#options.clock.monotonic()
    for (const [id, { untilMs }] of this.#challenges) {
      if (untilMs <= nowMs || this.#challenges.size >= CHALLENGES_MAX) this.#challenges.delete(id)
    }
  }
}

/** Throws LogicalError where no server can join the cluster as it is now. */
export const requireWelcoming = ({ cluster }: Runtime): void => {
  if (!cluster) throw new LogicalError('sealed', 'Vault is sealed')
  const { dr, performance } = cluster.replication.modes
  if ([dr, performance].some((mode) => mode !== 'disabled' && mode !== 'primary')) {
    throw invalid('no server can join a cluster that follows another one, as yet')
  }
}

const memberTls = async ({ record }: NodeAuthority, peerAddress: string, nowMs: number): Promise<MemberTls> => {
  const [certificate, privateKey] = [record.certificate, record.privateKey].map((text) => Buffer.from(text, 'base64'))
  if (!certificate || !privateKey) throw new Error('an authority without a key')
  const { host } = parseHostPort(peerAddress)
  const issued = await issueCertificate(
    { certificate, privateKey },
    { name: host, nowMs, otherHosts: ['localhost', '127.0.0.1'] },
  )
  return {
    ca: certificatePem(certificate),
    certificate: certificatePem(issued.certificate),
    privateKey: privateKeyPem(issued.privateKey),
  }
}
