/**
 * How a server that is to join shows that it has the shares, or the seal, of the cluster: it gets a secret that only those
 * open, and answers with what only who has the secret can know. What it is given then is encrypted with the secret as well.
 */
import type { Random } from '../../base/random.js'
import { deriveKey } from '../../crypto/digest.js'
import { hmacSha256Hex } from '../../crypto/hmac.js'
import { unwrapKey, wrapKey } from '../../seal/key-wrapping.js'
import type { PeerRecord } from './roster.js'

/** All that a new node needs. */
export interface Welcome {
  readonly initialCluster: string
  readonly token: string
  /** PEM: of the authority of the nodes, and of this one. */
  readonly ca: string
  readonly certificate: string
  readonly privateKey: string
  /** The certificate revocation list, base64 of its DER; undefined before the first removal of a node. */
  readonly revoked?: string | undefined
  /** Base64. */
  readonly rootKey: string
}

export const SECRET_BYTES = 32

/** Whoever is between the two can change nothing of what the server has said of itself. */
export const answerTo = (secret: Buffer, { nodeId, peerAddress, clusterAddress }: PeerRecord): string =>
  hmacSha256Hex(secret, JSON.stringify(['join', nodeId, peerAddress, clusterAddress]))

const PURPOSE = 'welcome'

export const sealWelcome = (random: Random, secret: Buffer, welcome: Welcome): string =>
  wrapKey(random, deriveKey(secret, PURPOSE), Buffer.from(JSON.stringify(welcome)), PURPOSE).toString('base64')

/** Undefined for what was made with another secret. */
export const openWelcome = (secret: Buffer, text: string): Welcome | undefined => {
  const opened = unwrapKey(deriveKey(secret, PURPOSE), Buffer.from(text, 'base64'), PURPOSE)
  return opened && (JSON.parse(opened.toString('utf8')) as Welcome)
}
