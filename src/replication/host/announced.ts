import { putJson, readJson } from '../../logical/storage.js'
import type { EpochChain } from '../model/epoch.js'
import type { ReplicationHost } from './host.js'
import { KEYS } from '../../storage/keys/key-families.js'
import type { Kind, LogPlace } from '../model/types.js'

/**
 * The last index that the primary ever announced, which a promotion without force has to have reached. It is kept on disk
 * only while it is ahead of what is applied, since the applied position is durable by itself.
 */
export type Announced = LogPlace

/** Also true of none and none. */
export const isSamePlace = (one: LogPlace | undefined, other: LogPlace | undefined): boolean =>
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
  /** True while nothing is applied yet of the primary that leads the set now, as after a change of primary. */
  readonly isBehindEpoch: boolean
}

/**
 * How much of what was announced is applied. An announcement of an epoch that nothing was applied from yet counts as not
 * reached at all; one of an epoch that is left behind counts no more, since its numbers are those of another log.
 */
export const measureProgress = (
  place: LogPlace | undefined,
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
