import { putJson, readJson } from '../../logical/storage.js'
import type { ReplicationHost } from '../host/host.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * A DR copy adds one entry to its log for each entry of its primary. Since the last comparison, both logs have
 * therefore grown by the same number of entries. The position of the last comparison is stored. It translates the
 * primary's indexes into indexes of the copy's own log, which survives a restart.
 */
interface Alignment {
  readonly epoch: string
  readonly remoteIndex: number
  readonly ownIndex: number
}

type Host = Pick<ReplicationHost, 'storage' | 'store'>

/** Stores the position at which a comparison completed: the logs advance in step from here. */
export const keepAlignment = async ({ storage, store }: Host): Promise<void> => {
  const place = store.remotePosition
  if (!place) return
  const alignment: Alignment = { epoch: place.epoch, remoteIndex: place.index, ownIndex: store.position.index }
  await storage.write((tx) => putJson(tx, KEYS.alignment, alignment))
}

/** Moves the stored position to another epoch that continues the same log. */
export const continueAlignment = async ({ storage, store }: Host): Promise<void> => {
  const place = store.remotePosition
  const kept = readJson<Alignment>(storage, KEYS.alignment)
  if (!place || !kept || kept.epoch === place.epoch || !isInStep(kept, place.index, store.position.index)) return
  await storage.write((tx) => putJson(tx, KEYS.alignment, { ...kept, epoch: place.epoch }))
}

const isInStep = ({ remoteIndex, ownIndex }: Alignment, remote: number, own: number): boolean =>
  remote - remoteIndex === own - ownIndex

/** Returns the position since which both logs have advanced in step; undefined if this is uncertain. */
const readAlignment = ({ storage, store }: Host): Alignment | undefined => {
  const place = store.remotePosition
  const kept = readJson<Alignment>(storage, KEYS.alignment)
  if (!place || kept?.epoch !== place.epoch) return undefined
  return isInStep(kept, place.index, store.position.index) ? kept : undefined
}

/**
 * Returns the index after which each entry of the primary is one entry of the local log; the applied index if
 * uncertain.
 */
export const alignedFrom = (host: Host): number =>
  readAlignment(host)?.remoteIndex ?? host.store.remotePosition?.index ?? 0

/** Returns the local log index of the primary's index; undefined if unknown. */
export const ownIndexOf = (host: Host, index: number): number | undefined => {
  const alignment = readAlignment(host)
  if (!alignment || index < alignment.remoteIndex) return undefined
  return alignment.ownIndex + index - alignment.remoteIndex
}
