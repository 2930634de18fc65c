export type Texts = Readonly<Record<string, string>>

/** An alias of an entity. Times in milliseconds since the epoch. */
export interface EntityAlias {
  readonly id: string
  readonly mountAccessor: string
  readonly name: string
  /** From the last login. */
  readonly metadata: Texts
  /** Set by operators. */
  readonly customMetadata: Texts
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface Entity {
  readonly id: string
  readonly name: string
  readonly namespaceId: string
  readonly metadata: Texts
  /** The policy names in the client's spelling; null if never set. */
  readonly policies: readonly string[] | null
  readonly isDisabled: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** At most one alias per mount, except for aliases that logins have added. */
  readonly aliases: readonly EntityAlias[]
}

export interface AliasFactors {
  readonly mountAccessor: string
  readonly name: string
  readonly namespaceId: string
}

/** A change to an entity, as endpoints pass it to the store. An undefined field was not sent and stays unchanged. */
export interface EntityChange {
  readonly namespaceId: string
  readonly id: string | undefined
  readonly name: string | undefined
  readonly metadata: Texts | undefined
  readonly policies: readonly string[] | undefined
  readonly isDisabled: boolean | undefined
}

export interface AliasChange {
  readonly namespaceId: string
  readonly id: string | undefined
  readonly name: string | undefined
  readonly mountAccessor: string | undefined
  readonly canonicalId: string | undefined
  readonly customMetadata: Texts | undefined
}

/**
 * The part of the entity store that the identity endpoints need. Errors are LogicalErrors; requests that fail with
 * `read-only` are forwarded.
 */
export interface EntityDirectory {
  /** Returns the mount with this accessor, if this cluster may see it. */
  findMount(accessor: string): { readonly type: string; readonly path: string } | undefined
  findById(namespaceId: string, id: string): Entity | undefined
  findByName(namespaceId: string, name: string): Entity | undefined
  findByAlias(factors: AliasFactors): Entity | undefined
  findByAliasId(namespaceId: string, id: string): Entity | undefined
  list(namespaceId: string): Promise<readonly Entity[]>
  /** Creates or changes an entity. Fails with 400 for an unknown ID, or for a name that another entity has. */
  putEntity(change: EntityChange): Promise<{ readonly entity: Entity; readonly isNew: boolean }>
  /** Removes the entity with all its aliases. Does nothing if it does not exist. */
  removeEntity(namespaceId: string, id: string): Promise<void>
  /**
   * Creates or changes an alias. Fails with 400 for an unknown ID, mount or entity, and if the entity would have two
   * aliases on one mount.
   */
  putAlias(change: AliasChange): Promise<{ readonly alias: EntityAlias; readonly entity: Entity }>
  removeAlias(namespaceId: string, id: string): Promise<void>
}
