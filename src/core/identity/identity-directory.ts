/**
 * Lets operators manage entities, groups and their aliases. The name of an entity or a group is unique per namespace.
 * The name of an alias is unique per mount. All checks run inside the transaction that writes.
 */
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import type { IdentityDirectory } from '../../logical/identity.js'
import type { Transaction } from '../../logical/storage.js'
import { entityDirectory } from './entity-directory.js'
import { groupDirectory } from './group-directory.js'
import type { IdentityStore } from './identity.js'
import { mergeEntities } from './merge-entities.js'

export interface AliasMount {
  readonly type: string
  readonly path: string
  readonly namespaceId: string
  readonly isLocal: boolean
}

interface DirectoryOptions {
  readonly store: IdentityStore
  readonly findMount: (accessor: string) => AliasMount | undefined
  /**
   * Returns true if this cluster cannot write entities and groups. A write then fails with `read-only` before any other
   * check, so that the primary handles the request.
   */
  readonly isReadOnly: () => boolean
  readonly now: () => number
}

export const identityDirectory = ({ store, findMount, isReadOnly, now }: DirectoryOptions): IdentityDirectory => {
  const write = async <T>(change: (tx: Transaction) => T): Promise<T> => {
    requirePrimary({ isReadOnly })
    return store.write(change)
  }
  const checkMount = (accessor: string, namespaceId: string): void => {
    const mount = findMount(accessor)
    if (!mount) throw invalid(`invalid mount accessor ${JSON.stringify(accessor)}`)
    if (mount.namespaceId !== namespaceId) throw invalid('matching mount is in a different namespace than request')
    if (mount.isLocal) throw invalid(`mount accessor ${JSON.stringify(accessor)} is a local mount`)
  }
  const parts = { store, write, checkMount, now }
  return {
    findMount,
    entities: entityDirectory(parts),
    groups: groupDirectory(parts),
    mergeEntities: (merge) => write((tx) => mergeEntities(tx, merge, now())),
    membershipOf: (memberId) => store.membershipOf(memberId),
  }
}
