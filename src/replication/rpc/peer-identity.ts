import type { EpochChain } from '../model/epoch.js'
import type { PeerIdentity } from '../model/types.js'
import type { EpochMessage, PeerIdentityMessage } from './messages.js'

/** Converts the identity that every call contains between its message and its internal form. */

const toEpochMessages = (chain: EpochChain): EpochMessage[] =>
  chain.map(({ id, number, parent, forkIndex, beginIndex = 0, alignedFrom = forkIndex, applied = [] }) => ({
    id,
    number,
    parent,
    fork_index: forkIndex,
    begin_index: beginIndex,
    aligned_from: alignedFrom,
    applied: applied.map(({ index, hash }) => ({ index, hash: Buffer.from(hash, 'hex'), epoch: parent })),
  }))

const parseEpochs = (rows: readonly EpochMessage[] = []): EpochChain =>
  rows.map((row) => ({
    id: row.id,
    number: row.number,
    parent: row.parent,
    forkIndex: row.fork_index,
    ...(row.begin_index > 0 && { beginIndex: row.begin_index, alignedFrom: row.aligned_from }),
    ...(row.applied?.length > 0 && {
      applied: row.applied.map(({ index, hash }) => ({ index, hash: hash.toString('hex') })),
    }),
  }))

export const toPeerMessage = (who: PeerIdentity): PeerIdentityMessage => ({
  set_id: who.setId,
  cluster_id: who.clusterId,
  version: who.version,
  epochs: toEpochMessages(who.epochs),
  api_address: who.apiAddress,
  cluster_addresses: [...who.clusterAddresses],
  incarnation: who.incarnation ?? 0,
  is_primary: who.isPrimary ?? false,
  ended: toEpochMessages(who.ended ?? []),
})

/** Parses an identity. A missing identity becomes one with empty fields, which no set and no epoch match. */
export const parsePeer = (message: PeerIdentityMessage | null | undefined): PeerIdentity => ({
  setId: message?.set_id ?? '',
  clusterId: message?.cluster_id ?? '',
  version: message?.version ?? '',
  epochs: parseEpochs(message?.epochs),
  apiAddress: message?.api_address ?? '',
  clusterAddresses: message?.cluster_addresses ?? [],
  incarnation: message?.incarnation ?? 0,
  isPrimary: message?.is_primary ?? false,
  ended: parseEpochs(message?.ended),
})
