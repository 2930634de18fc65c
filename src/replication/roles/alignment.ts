import { putJson, readJson } from '../../logical/storage.js'
import type { ReplicationHost } from '../host/host.js'
import { KEYS } from '../../storage/keys/key-families.js'

/**
 * A position at which a DR secondary completed a comparison, in both logs. Since then, the secondary has added one
 * entry to its own log for each entry of its primary. The stored position therefore translates indexes of the primary's
 * log into indexes of the secondary's own log, also after a restart.
 */
interface Alignment {
  readonly epoch: string
  readonly remoteIndex: number
  readonly ownIndex: number
}

type Host = Pick<ReplicationHost, 'storage' | 'store'>

/** Stores the current position after a completed comparison. From here on, both logs grow in step. */
export const keepAlignment = async ({ storage, store }: Host): Promise<void> => {
  const position = store.remotePosition
  if (!position) return
  const alignment: Alignment = { epoch: position.epoch, remoteIndex: position.index, ownIndex: store.position.index }
  await storage.write((tx) => putJson(tx, KEYS.alignment, alignment))
}

/** Assigns the stored position to the current epoch, which continues the same log. */
export const continueAlignment = async ({ storage, store }: Host): Promise<void> => {
  const position = store.remotePosition
  const kept = readJson<Alignment>(storage, KEYS.alignment)
  if (!position || !kept || kept.epoch === position.epoch || !isInStep(kept, position.index, store.position.index))
    return
  await storage.write((tx) => putJson(tx, KEYS.alignment, { ...kept, epoch: position.epoch }))
}

const isInStep = ({ remoteIndex, ownIndex }: Alignment, remote: number, own: number): boolean =>
  remote - remoteIndex === own - ownIndex

/** Returns the stored position if both logs have certainly grown in step since then, otherwise undefined. */
const readAlignment = ({ storage, store }: Host): Alignment | undefined => {
  const position = store.remotePosition
  const kept = readJson<Alignment>(storage, KEYS.alignment)
  if (!position || kept?.epoch !== position.epoch) return undefined
  return isInStep(kept, position.index, store.position.index) ? kept : undefined
}

/**
 * Returns the index of the primary's log after which each entry corresponds to one local entry. Returns the applied
 * index if this is uncertain.
 */
export const alignedFrom = (host: Host): number =>
  readAlignment(host)?.remoteIndex ?? host.store.remotePosition?.index ?? 0

/** Returns the local log index that corresponds to `index` of the primary's log, or undefined if it is unknown. */
export const ownIndexOf = (host: Host, index: number): number | undefined => {
  const alignment = readAlignment(host)
  if (!alignment || index < alignment.remoteIndex) return undefined
  return alignment.ownIndex + index - alignment.remoteIndex
}
