/**
 * Removes invalid SecretIDs, and accessors that refer to no SecretID. Runs periodically and on request. Each cluster
 * tidies its local storage. Only a cluster that can write replicated data tidies the replicated storage. Only one run
 * is in progress at a time.
 */
import { PeriodicWork } from '../../base/periodic-work.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { pagesOf, type ReadStorage, type Storage, type Transaction } from '../../logical/storage.js'
import { tidyAnswer } from '../../logical/tidy.js'
import type { MountData } from './mount-data.js'
import { hasExpired, type SecretIdStore } from './secret-id-records.js'

export const tidyWork = (data: MountData): PeriodicWork => {
  const { context, roles, replicated, local } = data
  const work: PeriodicWork = new PeriodicWork(async () => {
    try {
      if (!context.isReadOnly()) await clean(replicated)
      await clean(local)
    } catch (error) {
      if (!work.isStopped) context.log.warn('invalid SecretIDs could not be removed', { error: String(error) })
    }
  })

  const clean = async (store: SecretIdStore): Promise<void> => {
    const { storage, folders } = store
    const secretIds = await sweep(storage, folders.secretIds, {
      isDead: (key, reader) => isDead(store, key, reader),
      remove: (tx, key) => store.removeAt(tx, key),
    })
    const accessors = await sweep(storage, folders.accessors, {
      isDead: (key, reader) => !store.isAccessorUsed(key, reader),
      remove: (tx, key) => tx.delete(key),
    })
    if (secretIds + accessors > 0) context.log.info('removed invalid SecretIDs', { secretIds, accessors })
  }

  /**
   * Removes the dead keys below `prefix`, and returns their number. Checks each dead key again inside the transaction
   * that removes it.
   */
  const sweep = async (storage: Storage, prefix: string, { isDead, remove }: Rule): Promise<number> => {
    let removed = 0
    for await (const keys of pagesOf(storage, prefix)) {
      if (work.isStopped) return removed
      const dead = keys.filter((key) => isDead(key, storage))
      if (dead.length === 0) continue
      removed += await storage.write((tx) => {
        const still = dead.filter((key) => isDead(key, tx))
        for (const key of still) remove(tx, key)
        return still.length
      })
    }
    return removed
  }

  const isDead = (store: SecretIdStore, key: string, reader: ReadStorage): boolean => {
    const record = store.read(key, reader)
    if (!record) return false
    if (hasExpired(record, context.clock.now()) || !store.hasAccessor(record, reader)) return true
    const role = roles.find(record.role)
    return !role || !key.startsWith(store.folderOf(role))
  }

  return work
}

interface Rule {
  readonly isDead: (key: string, reader: ReadStorage) => boolean
  readonly remove: (tx: Transaction, key: string) => void
}

export const tidyPath = (work: PeriodicWork): PathSpec =>
  definePath('tidy/secret-id', {}, 'Remove expired SecretIDs and unused accessors.', {
    update: () => tidyAnswer(work.begin()),
  })
