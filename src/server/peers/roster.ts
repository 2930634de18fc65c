import { putJson, readJson, type ReadStorage, type Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/key-families.js'

/** A node as the cluster took it in. Addresses are `host:port`. */
export interface PeerRecord {
  readonly nodeId: string
  readonly peerAddress: string
  readonly clusterAddress: string
}

const keyOf = (nodeId: string): string => KEYS.peers + encodeURIComponent(nodeId)

/** Who belongs to the cluster, as its active nodes have written it. */
export const findPeer = (storage: ReadStorage, nodeId: string): PeerRecord | undefined =>
  readJson<PeerRecord>(storage, keyOf(nodeId))

export const listPeers = async (storage: Storage): Promise<readonly PeerRecord[]> =>
  (await storage.keys(KEYS.peers)).flatMap((key) => readJson<PeerRecord>(storage, key) ?? [])

export const keepPeer = (storage: Storage, peer: PeerRecord): Promise<void> =>
  storage.write((tx) => putJson(tx, keyOf(peer.nodeId), peer))

export const forgetPeer = (storage: Storage, nodeId: string): Promise<void> =>
  storage.write((tx) => tx.delete(keyOf(nodeId)))
