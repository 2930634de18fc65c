import type { ReplicationContext } from './context.js'
import { currentEpoch } from '../model/epoch.js'
import { isSecondaryStage } from '../model/machine.js'
import { isCopy } from '../model/state.js'
import { KINDS } from './role-records.js'
import { dropHeld, settleLosses } from './settle-losses.js'

/** Makes the store consistent with the roles: its remote position, the epoch of its log, and the lists of losses. */
export const settleStore = async ({ host, roles, settledFilter, maintenance }: ReplicationContext): Promise<void> => {
  const { store } = host
  const { dr, performance } = roles.records
  const record = isSecondaryStage(roles.facts().stages.dr) ? dr : performance
  if (performance.mode !== 'bootstrapping' && !isCopy(performance)) await settledFilter.forget()
  const isFollower = record.mode === 'secondary' || record.mode === 'bootstrapping'
  if (isFollower) {
    const position = store.remotePosition
    const isForeign = position !== undefined && !record.epochs.some((epoch) => epoch.id === position.epoch)
    if (isForeign || (!record.hasFollowed && position)) await store.forgetRemote()
  } else if (store.remotePosition || store.isResyncing) {
    if (store.isResyncing) await maintenance.reindexNow()
    await store.forgetRemote()
  }
  const written =
    dr.mode === 'primary'
      ? dr
      : performance.mode === 'primary' && !isSecondaryStage(roles.facts().stages.dr)
        ? performance
        : undefined
  const epoch = written && currentEpoch(written.epochs)?.id
  if (epoch !== undefined && epoch !== store.epoch) await store.setEpoch(epoch)
  for (const kind of KINDS) {
    const { mode } = roles.record(kind)
    if (mode !== 'primary' && mode !== 'disabled') continue
    await dropHeld(host, kind)
    await settleLosses(host, kind)
  }
}
