import { invalid } from '../../logical/errors.js'
import type { AliasChange, AliasFactors, EntityAlias } from '../../logical/identity.js'
import type { Transaction } from '../../logical/storage.js'
import type { IdentityStore } from './identity.js'

/** What the directories of entities and of groups share. */
export interface DirectoryParts {
  readonly store: IdentityStore
  /** Rejects with `read-only` if this cluster cannot write entities and groups. */
  write<T>(change: (tx: Transaction) => T): Promise<T>
  /** Throws LogicalError 400 if the mount cannot have aliases of this namespace. */
  readonly checkMount: (accessor: string, namespaceId: string) => void
  readonly now: () => number
}

/** Returns the mount and the name that an alias has after a change. Throws LogicalError 400 if one is missing. */
export const factorsOf = (change: AliasChange, current: EntityAlias | undefined): AliasFactors => {
  const { namespaceId, mountAccessor = current?.mountAccessor, name = current?.name } = change
  if (name === undefined) throw invalid('missing alias name')
  if (mountAccessor === undefined) throw invalid('missing mount_accessor')
  return { namespaceId, mountAccessor, name }
}
