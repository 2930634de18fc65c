import { MountTable } from '../../core/mounts/mount-table.js'
import { NamespaceStore } from '../../core/namespaces/namespaces.js'
import type { Storage } from '../../logical/storage.js'

/** The tables of namespaces and mounts, used by the core and by replication filters. */
export interface CoreTables {
  readonly namespaces: NamespaceStore
  readonly table: MountTable
}

export const createCoreTables = (storage: Storage): CoreTables => {
  const namespaces = new NamespaceStore(storage)
  return { namespaces, table: new MountTable(storage, namespaces) }
}
