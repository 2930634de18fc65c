import { putJson, readJson, type ReadStorage, type Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** A node as admitted to the cluster. Addresses are `host:port`. */
export interface PeerRecord {
  readonly nodeId: string
  readonly peerAddress: string
  readonly clusterAddress: string
  /** The serial number of its etcd member's certificate, in hex. */
  readonly certificate?: string | undefined
}

export const peerKey = (nodeId: string): string => KEYS.peers + encodeURIComponent(nodeId)

/** Reads the members of the cluster, as its active nodes have stored them. */
export const findPeer = (storage: ReadStorage, nodeId: string): PeerRecord | undefined =>
  readJson<PeerRecord>(storage, peerKey(nodeId))

export const listPeers = async (storage: Storage): Promise<readonly PeerRecord[]> =>
  (await storage.keys(KEYS.peers)).flatMap((key) => readJson<PeerRecord>(storage, key) ?? [])

export const keepPeer = (storage: Storage, peer: PeerRecord): Promise<void> =>
  storage.write((tx) => putJson(tx, peerKey(peer.nodeId), peer))
