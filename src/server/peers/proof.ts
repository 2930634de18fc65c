/**
 * How a joining server proves that it has the shares or the seal of the cluster:
 * - The leader sends an encrypted secret, which only the shares or the seal can decrypt.
 * - The joining server computes its answer from the secret.
 * - The leader encrypts the join response with the secret too.
 */
import type { Random } from '../../base/random.js'
import { deriveKey, hmacSha256Hex } from '../../crypto/digest.js'
import { unwrapKey, wrapKey } from '../../seal/key-wrapping.js'
import type { PeerRecord } from './membership.js'
import type { MemberTls } from './etcd-process.js'

/** The data that a new node needs. */
export interface JoinResponse extends MemberTls {
  readonly initialCluster: string
  readonly token: string
  /** The root key in base64. */
  readonly rootKey: string
}

export const SECRET_BYTES = 32

/**
 * Returns the answer to the challenge. The answer authenticates the ID and the addresses of the server, so that a man
 * in the middle cannot change them.
 */
export const answerTo = (secret: Buffer, { nodeId, peerAddress, clusterAddress }: PeerRecord): string =>
  hmacSha256Hex(secret, JSON.stringify(['join', nodeId, peerAddress, clusterAddress]))

const PURPOSE = 'welcome'

export const sealJoinResponse = (random: Random, secret: Buffer, welcome: JoinResponse): string =>
  wrapKey(random, deriveKey(secret, PURPOSE), Buffer.from(JSON.stringify(welcome)), PURPOSE).toString('base64')

/** Decrypts a join response. Returns undefined if it was encrypted with another secret. */
export const openJoinResponse = (secret: Buffer, text: string): JoinResponse | undefined => {
  const opened = unwrapKey(deriveKey(secret, PURPOSE), Buffer.from(text, 'base64'), PURPOSE)
  return opened && (JSON.parse(opened.toString('utf8')) as JoinResponse)
}
