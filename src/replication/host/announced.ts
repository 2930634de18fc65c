import { putJson, readJson } from '../../logical/storage.js'
import type { EpochChain } from '../model/epoch.js'
import type { ReplicationHost } from './host.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { ReplicableStore } from '../../storage/keys/replicable.js'
import type { Kind, PrimaryPosition } from '../model/types.js'

/**
 * The last index that the primary announced. A promotion without force requires that it is applied. It is stored only
 * while it is ahead of the applied position, which is durable itself.
 */
type Announced = PrimaryPosition

/** Returns true if both are equal or both undefined. */
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
  /** True while no entry of the current primary of the set is applied, for example just after the primary changed. */
  readonly isBehindEpoch: boolean
}

/**
 * Computes how much of the announced log is applied. If nothing of the announced epoch is applied, the announcement
 * counts as not reached. An announcement in an older epoch is ignored, because its indexes belong to another log.
 */
export const measureProgress = (
  place: PrimaryPosition | undefined,
  announced: Announced | undefined,
  epochs: EpochChain,
): Progress => {
  const order = (id: string | undefined) => epochs.findIndex((epoch) => epoch.id === id)
  const applied = place?.index ?? 0
  const isBehindEpoch = order(place?.epoch) >= 0 && order(place?.epoch) < epochs.length - 1
  if (!announced || announced.epoch === place?.epoch)
    return { applied, announced: announced?.index ?? 0, isBehindEpoch }
  return order(announced.epoch) > order(place?.epoch)
    ? { applied: 0, announced: announced.index, isBehindEpoch }
    : { applied, announced: 0, isBehindEpoch }
}

/** Returns the last index that secondaries of a kind must reach. */
export const lastIndexOf = (
  store: Pick<ReplicableStore, 'lastShippedIndex' | 'lastReplicatedIndex'>,
  kind: Kind,
): number => (kind === 'dr' ? store.lastShippedIndex : store.lastReplicatedIndex)
