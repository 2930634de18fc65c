import { putJson, readJson } from '../../logical/storage.js'
import type { ReplicableStore } from '../../storage/replicable.js'
import type { EpochChain } from './epoch.js'
import type { ReplicationHost } from '../host.js'
import { announcedKey } from './state.js'
import type { Kind } from '../types.js'

/**
 * The last index that the primary ever announced, which a promotion without force has to have reached. It is kept on disk
 * only while it is ahead of what is applied, since the applied position is durable by itself.
 */
export interface Announced {
  /** Indexes of different epochs are different numberings. */
  readonly epoch: string
  readonly index: number
}

export const readAnnounced = (host: Pick<ReplicationHost, 'storage'>, kind: Kind): Announced | undefined =>
  readJson<Announced>(host.storage, announcedKey(kind))

export const keepAnnounced = async (
  host: Pick<ReplicationHost, 'storage'>,
  kind: Kind,
  announced: Announced,
): Promise<void> => {
  await host.storage.write((tx) => putJson(tx, announcedKey(kind), announced))
}

/**
 * How much of what was announced is applied. An announcement of an epoch that nothing was applied from yet counts as not
 * reached at all; one of an epoch that is left behind counts no more.
 */
export const measureProgress = (
  position: ReplicableStore['remotePosition'],
  announced: Announced | undefined,
  epochs: EpochChain,
): { readonly applied: number; readonly announced: number } => {
  const applied = position?.index ?? 0
  if (!announced || announced.epoch === position?.epoch) return { applied, announced: announced?.index ?? 0 }
  const order = (id: string | undefined) => epochs.findIndex((epoch) => epoch.id === id)
  return order(announced.epoch) > order(position?.epoch)
    ? { applied: 0, announced: announced.index }
    : { applied, announced: 0 }
}
