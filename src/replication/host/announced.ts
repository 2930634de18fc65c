import { putJson, readJson } from '../../logical/storage.js'
import type { EpochChain } from '../model/epoch.js'
import type { ReplicationHost } from './host.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import type { Kind, PrimaryPosition } from '../model/types.js'

/**
 * The last position that the primary announced. A promotion without force requires that this cluster has applied this
 * position. It is stored only while it is ahead of the applied position.
 */
type Announced = PrimaryPosition

/** Returns true if both positions are equal, or both are undefined. */
export const isSamePosition = (one: PrimaryPosition | undefined, other: PrimaryPosition | undefined): boolean =>
  one?.index === other?.index && one?.epoch === other?.epoch

export const readAnnounced = (host: Pick<ReplicationHost, 'storage'>, kind: Kind): Announced | undefined =>
  readJson<Announced>(host.storage, KEYS.announced + kind)

export const keepAnnounced = async (
  host: Pick<ReplicationHost, 'storage'>,
  kind: Kind,
  announced: Announced,
): Promise<void> => {
  await host.storage.write((tx) => putJson(tx, KEYS.announced + kind, announced))
}

interface Progress {
  readonly applied: number
  readonly announced: number
  /** True while this cluster has applied no entry of the current epoch, for example just after the primary changed. */
  readonly isBehindEpoch: boolean
}

/**
 * Compares the applied with the announced position. If this cluster has applied nothing of the announced epoch, the
 * result has `applied` 0. An announcement of an older epoch is ignored, because its indexes belong to another log.
 */
export const measureProgress = (
  position: PrimaryPosition | undefined,
  announced: Announced | undefined,
  epochs: EpochChain,
): Progress => {
  const order = (id: string | undefined) => epochs.findIndex((epoch) => epoch.id === id)
  const applied = position?.index ?? 0
  const isBehindEpoch = order(position?.epoch) >= 0 && order(position?.epoch) < epochs.length - 1
  if (!announced || announced.epoch === position?.epoch)
    return { applied, announced: announced?.index ?? 0, isBehindEpoch }
  return order(announced.epoch) > order(position?.epoch)
    ? { applied: 0, announced: announced.index, isBehindEpoch }
    : { applied, announced: 0, isBehindEpoch }
}

/** Returns the last index that secondaries of a kind must reach. */
export const lastIndexOf = (
  store: Pick<ReplicableStore, 'lastShippedIndex' | 'lastReplicatedIndex'>,
  kind: Kind,
): number => (kind === 'dr' ? store.lastShippedIndex : store.lastReplicatedIndex)
