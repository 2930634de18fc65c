import type { ReplicationContext } from './context.js'
import { currentEpoch } from '../model/epoch.js'
import { isSecondaryStage } from '../model/machine.js'
import { isCopy } from '../model/state.js'

/** Adapts the store to the roles: the remote position, the settled filter, and the epoch of the log. */
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
}
