export type Texts = Readonly<Record<string, string>>

/** An alias of an entity or a group. Times are in milliseconds since the epoch. */
export interface EntityAlias {
  readonly id: string
  readonly mountAccessor: string
  readonly name: string
  /** Metadata from the last login. */
  readonly metadata: Texts
  /** Metadata that operators set. */
  readonly customMetadata: Texts
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** The IDs of the merged entities that had the alias before. */
  readonly mergedFromIds?: readonly string[] | undefined
}

/** The properties that entities and groups share. */
export interface IdentityRecord {
  readonly id: string
  readonly name: string
  readonly namespaceId: string
  readonly metadata: Texts
  /** The policy names as the client sent them; null if never set. */
  readonly policies: readonly string[] | null
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /**
   * An entity has at most one alias per mount, except for aliases that logins have added. An external group has at most
   * one alias, and an internal group has none.
   */
  readonly aliases: readonly EntityAlias[]
  /** The IDs of the entities that were merged into this one. */
  readonly mergedIds?: readonly string[] | undefined
}

export interface Entity extends IdentityRecord {
  readonly isDisabled: boolean
}

export type GroupType = 'internal' | 'external'

export interface Group extends IdentityRecord {
  readonly type: GroupType
  readonly memberEntityIds: readonly string[]
  readonly memberGroupIds: readonly string[]
  /** Number of writes of the group, including the first one. */
  readonly modifyIndex: number
}

/** The groups of an entity or a group: those that contain it, and those that contain these groups at any depth. */
export interface Membership {
  readonly direct: readonly Group[]
  readonly inherited: readonly Group[]
}

export interface AliasFactors {
  readonly mountAccessor: string
  readonly name: string
  readonly namespaceId: string
}

/** A change to an entity or a group. A field that is undefined stays unchanged. */
export interface RecordChange {
  readonly namespaceId: string
  readonly id: string | undefined
  readonly name: string | undefined
  readonly metadata: Texts | undefined
  readonly policies: readonly string[] | undefined
}

export interface EntityChange extends RecordChange {
  readonly isDisabled: boolean | undefined
}

export interface GroupChange extends RecordChange {
  readonly type: GroupType | undefined
  readonly memberEntityIds: readonly string[] | undefined
  readonly memberGroupIds: readonly string[] | undefined
}

export interface AliasChange {
  readonly namespaceId: string
  readonly id: string | undefined
  readonly name: string | undefined
  readonly mountAccessor: string | undefined
  readonly canonicalId: string | undefined
  readonly customMetadata: Texts | undefined
}

/** A merge of entities into one of them. */
export interface EntityMerge {
  readonly namespaceId: string
  readonly targetId: string
  readonly sourceIds: readonly string[]
  /** The aliases to keep if both entities have an alias on the same mount. */
  readonly keptAliasIds: readonly string[]
}

/** Finds entities or groups. */
export interface RecordFinder<T extends IdentityRecord> {
  findById(namespaceId: string, id: string): T | undefined
  findByName(namespaceId: string, name: string): T | undefined
  findByAlias(factors: AliasFactors): T | undefined
  findByAliasId(namespaceId: string, id: string): T | undefined
  list(namespaceId: string): Promise<readonly T[]>
}

/** Manages entities or groups. `C` is a change of one of them. */
export interface RecordDirectory<T extends IdentityRecord, C extends RecordChange> extends RecordFinder<T> {
  /**
   * Creates or changes a record. Rejects with LogicalError 400 for an unknown ID, for the name of another record, and
   * for members that a group cannot have.
   */
  put(change: C): Promise<{ readonly record: T; readonly isNew: boolean }>
  /** Removes the record with all its aliases and memberships. Does nothing if the record does not exist. */
  remove(namespaceId: string, id: string): Promise<void>
  /**
   * Creates or changes an alias. Rejects with LogicalError 400 for an unknown ID or mount, and for an owner that cannot
   * have the alias.
   */
  putAlias(change: AliasChange): Promise<{ readonly alias: EntityAlias; readonly record: T }>
  removeAlias(namespaceId: string, id: string): Promise<void>
}

/**
 * The operations of the identity store that the identity endpoints use. All errors are LogicalErrors. After
 * `read-only`, the pipeline forwards the request.
 */
export interface IdentityDirectory {
  readonly entities: RecordDirectory<Entity, EntityChange>
  readonly groups: RecordDirectory<Group, GroupChange>
  /**
   * Moves the aliases and memberships of entities to another entity and removes them. Rejects with LogicalError 400 for
   * an unknown ID, and for aliases of the same mount unless the merge decides which of them to keep.
   */
  mergeEntities(merge: EntityMerge): Promise<void>
  /** Returns the mount with this accessor, if this cluster may see it. */
  findMount(accessor: string): { readonly type: string; readonly path: string } | undefined
  /** Returns the groups of an entity or a group. */
  membershipOf(memberId: string): Membership
}
