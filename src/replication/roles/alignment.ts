import { putJson, readJson } from '../../logical/storage.js'
import type { ReplicationHost } from '../host/host.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * A DR copy logs every entry of its primary as one of its own, so the two logs go on in step from the last comparison.
 * That place is kept: with it the copy's own log, which survives a restart, can be read in the primary's numbering.
 */
interface Alignment {
  readonly epoch: string
  readonly remoteIndex: number
  readonly ownIndex: number
}

type Host = Pick<ReplicationHost, 'storage' | 'store'>

/** A comparison is complete: the logs go on in step from here. */
export const keepAlignment = async ({ storage, store }: Host): Promise<void> => {
  const place = store.remotePosition
  if (!place) return
  const alignment: Alignment = { epoch: place.epoch, remoteIndex: place.index, ownIndex: store.position.index }
  await storage.write((tx) => putJson(tx, KEYS.alignment, alignment))
}

/** Moves the kept place to another epoch, in which the same log goes on. */
export const continueAlignment = async ({ storage, store }: Host): Promise<void> => {
  const place = store.remotePosition
  const kept = readJson<Alignment>(storage, KEYS.alignment)
  if (!place || !kept || kept.epoch === place.epoch || !isInStep(kept, place.index, store.position.index)) return
  await storage.write((tx) => putJson(tx, KEYS.alignment, { ...kept, epoch: place.epoch }))
}

const isInStep = ({ remoteIndex, ownIndex }: Alignment, remote: number, own: number): boolean =>
  remote - remoteIndex === own - ownIndex

/** The first place from which both logs went in step to where they stand now; undefined when that is not sure. */
const readAlignment = ({ storage, store }: Host): Alignment | undefined => {
  const place = store.remotePosition
  const kept = readJson<Alignment>(storage, KEYS.alignment)
  if (!place || kept?.epoch !== place.epoch) return undefined
  return isInStep(kept, place.index, store.position.index) ? kept : undefined
}

/** The primary's entries behind this index stand one by one in the own log; what is applied now where nothing is sure. */
export const alignedFrom = (host: Host): number =>
  readAlignment(host)?.remoteIndex ?? host.store.remotePosition?.index ?? 0

/** Where the primary's index stands in the own log; undefined where that is not known. */
export const ownIndexOf = (host: Host, index: number): number | undefined => {
  const alignment = readAlignment(host)
  if (!alignment || index < alignment.remoteIndex) return undefined
  return alignment.ownIndex + index - alignment.remoteIndex
}
