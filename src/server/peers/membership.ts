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

/** The server's etcd member, as it was first started. */
export interface MemberRecord {
  readonly nodeId: string
  /** `host:port` for the other members. */
  readonly peerAddress: string
  /** All members at the first start, in etcd's format: `name=url,...`. */
  readonly initialCluster: string
  /** Equal for all members of a cluster. */
  readonly token: string
  /** True for the cluster's very first member. */
  readonly isFirst: boolean
}

/** The state stored in a data directory of label `raft`; see SPEC.md. */
export type Membership =
  | { readonly state: 'alone' }
  | { readonly state: 'joined'; readonly member: MemberRecord }
  | { readonly state: 'removed'; readonly nodeId: string }

const ALONE: Membership = { state: 'alone' }

const fileOf = (directory: string): string => path.join(directory, 'peers.json')

/** Reads the membership; `alone` if none was written. Rejects with LogicalError `internal` for an unreadable file. */
export const readMembership = async (directory: string): Promise<Membership> => {
  const text = await readFile(fileOf(directory), 'utf8').catch(absent)
  if (text === undefined) return ALONE
  try {
    const { format, ...membership } = JSON.parse(text) as Membership & { readonly format: number }
    if (format === 1) return membership
  } catch (cause) {
    throw unclear(directory, cause)
  }
  throw unclear(directory)
}

/** Resolves when the file survives a power loss. */
export const writeMembership = async (directory: string, membership: Membership): Promise<void> => {
  makeDirectory(directory, 0o700)
  await writeFileDurably(fileOf(directory), `${JSON.stringify({ format: 1, ...membership })}\n`)
}

const unclear = (directory: string, cause?: unknown): LogicalError =>
  new LogicalError('internal', `the file ${fileOf(directory)} with the cluster membership cannot be read`, {
    cause,
  })

/** A node as admitted to the cluster. Addresses are `host:port`. */
export interface PeerRecord {
  readonly nodeId: string
  readonly peerAddress: string
  readonly clusterAddress: string
  /** The serial number of its etcd member's certificate, in hex. */
  readonly certificate?: string | undefined
}

export const peerKey = (nodeId: string): string => KEYS.peers + encodeURIComponent(nodeId)

/** Returns the record of an admitted node; undefined if there is none. The active node writes the records. */
export const findPeer = (storage: ReadStorage, nodeId: string): PeerRecord | undefined =>
  readJson<PeerRecord>(storage, peerKey(nodeId))

export const listPeers = async (storage: Storage): Promise<readonly PeerRecord[]> =>
  (await storage.keys(KEYS.peers)).flatMap((key) => readJson<PeerRecord>(storage, key) ?? [])

export const keepPeer = (storage: Storage, peer: PeerRecord): Promise<void> =>
  storage.write((tx) => putJson(tx, peerKey(peer.nodeId), peer))
