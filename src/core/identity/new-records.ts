import type { Clock } from '../../base/clock.js'
import { uuid } from '../../base/id.js'
import type { Random } from '../../base/random.js'
import type { Entity, EntityAlias, Group, GroupType, IdentityRecord } from '../../logical/identity.js'
import type { ReadStorage } from '../../logical/storage.js'
import { GROUPS } from './group-record.js'
import { ENTITIES, type RecordTable } from './identity-record.js'

interface NewRecordsOptions {
  readonly random: Random
  readonly clock: Clock
}

interface NewGroup {
  readonly type: GroupType
  readonly namespaceId: string
  readonly name?: string | undefined
}

/** Creates records with an ID and a name, without storing them. If no name is given, generates an unused name. */
export class NewRecords {
  readonly #options: NewRecordsOptions

  constructor(options: NewRecordsOptions) {
    this.#options = options
  }

  entity(reader: ReadStorage, namespaceId: string, name?: string): Entity {
    return { ...this.#record(reader, ENTITIES, namespaceId, name), policies: [], isDisabled: false }
  }

  /** Returns a group without members. */
  group(reader: ReadStorage, { type, namespaceId, name }: NewGroup): Group {
    const record = this.#record(reader, GROUPS, namespaceId, name)
    return { ...record, type, memberEntityIds: [], memberGroupIds: [], modifyIndex: 0 }
  }

  alias(fields: Pick<EntityAlias, 'mountAccessor' | 'name' | 'metadata' | 'customMetadata'>): EntityAlias {
    const createdAtMs = this.#options.clock.now()
    return { id: uuid(this.#options.random), ...fields, createdAtMs, updatedAtMs: createdAtMs }
  }

  #record<T extends IdentityRecord>(
    reader: ReadStorage,
    table: RecordTable<T>,
    namespaceId: string,
    name = this.#freeName(reader, table, namespaceId),
  ): IdentityRecord {
    const createdAtMs = this.#options.clock.now()
    const id = uuid(this.#options.random)
    return { id, name, metadata: {}, policies: null, aliases: [], namespaceId, createdAtMs, updatedAtMs: createdAtMs }
  }

  #freeName<T extends IdentityRecord>(reader: ReadStorage, table: RecordTable<T>, namespaceId: string): string {
    for (;;) {
      const name = `${table.word}_${this.#options.random.bytes(4).toString('hex')}`
      if (!table.findByName(reader, namespaceId, name)) return name
    }
  }
}
