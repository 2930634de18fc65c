import type { Facilities } from '../../base/facilities.js'
import path from 'node:path'
import { readFile } from 'node:fs/promises'
import { makeDirectory } from '../../base/make-directory.js'
import { LogicalError } from '../../logical/errors.js'
import type { ServerConfig } from '../config/config.js'
import { absent, writeFileDurably } from '../../storage/engine/durable-file.js'
import { putJson, readJson, type ReadStorage, type Storage } from '../../logical/storage.js'
import { KEYS } from '../../storage/keys/key-families.js'

export interface PeersOptions extends Facilities {
  readonly config: ServerConfig
  readonly directory: string
}

/** The parameters with which this server's etcd member was first started. */
export interface MemberRecord {
  readonly nodeId: string
  /** The `host:port` at which other members reach this member. */
  readonly peerAddress: string
  /** All members at the first start, in etcd's format: `name=url,...`. */
  readonly initialCluster: string
  /** The token of the etcd cluster. All members of a cluster have the same token. */
  readonly token: string
  /** True for the first member of the cluster. */
  readonly isFirst: boolean
}

/** The state that a data directory of storage `raft` records; see SPEC.md. */
export type Membership =
  | { readonly state: 'alone' }
  | { readonly state: 'joined'; readonly member: MemberRecord }
  | { readonly state: 'removed'; readonly nodeId: string }

const ALONE: Membership = { state: 'alone' }

const fileOf = (directory: string): string => path.join(directory, 'peers.json')

/**
 * Reads the membership. Returns `alone` if the file does not exist. Rejects with LogicalError `internal` if the file is
 * invalid.
 */
export const readMembership = async (directory: string): Promise<Membership> => {
  const text = await readFile(fileOf(directory), 'utf8').catch(absent)
  if (text === undefined) return ALONE
  try {
    const { format, ...membership } = JSON.parse(text) as Membership & { readonly format: number }
    if (format === 1) return membership
  } catch (cause) {
    throw unreadable(directory, cause)
  }
  throw unreadable(directory)
}

/** Writes the membership. Resolves when the file survives a power failure. */
export const writeMembership = async (directory: string, membership: Membership): Promise<void> => {
  makeDirectory(directory, 0o700)
  await writeFileDurably(fileOf(directory), `${JSON.stringify({ format: 1, ...membership })}\n`)
}

const unreadable = (directory: string, cause?: unknown): LogicalError =>
  new LogicalError('internal', `the file ${fileOf(directory)} with the cluster membership cannot be read`, {
    cause,
  })

/** The record of an admitted node. Addresses are `host:port`. */
export interface PeerRecord {
  readonly nodeId: string
  readonly peerAddress: string
  readonly clusterAddress: string
  /** The serial number of the certificate of the node's etcd member, in hex. */
  readonly certificate?: string | undefined
}

export const peerKey = (nodeId: string): string => KEYS.peers + encodeURIComponent(nodeId)

/** Returns the record of an admitted node; undefined if there is none. Only the active node writes these records. */
export const findPeer = (storage: ReadStorage, nodeId: string): PeerRecord | undefined =>
  readJson<PeerRecord>(storage, peerKey(nodeId))

export const listPeers = async (storage: Storage): Promise<readonly PeerRecord[]> =>
  (await storage.keys(KEYS.peers)).flatMap((key) => readJson<PeerRecord>(storage, key) ?? [])

export const writePeer = (storage: Storage, peer: PeerRecord): Promise<void> =>
  storage.write((tx) => putJson(tx, peerKey(peer.nodeId), peer))
