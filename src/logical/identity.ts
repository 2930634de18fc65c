export type Texts = Readonly<Record<string, string>>

/** An alias of an entity. Times are in milliseconds since the epoch. */
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
}

export interface Entity {
  readonly id: string
  readonly name: string
  readonly namespaceId: string
  readonly metadata: Texts
  /** The policy names as the client sent them; null if never set. */
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

/** A change to an entity. A field that is undefined stays unchanged. */
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
 * The operations of the entity store that the identity endpoints use. All errors are LogicalErrors. After `read-only`,
 * the pipeline forwards the request.
 */
export interface EntityDirectory {
  /** Returns the mount with this accessor, if this cluster may see it. */
  findMount(accessor: string): { readonly type: string; readonly path: string } | undefined
  findById(namespaceId: string, id: string): Entity | undefined
  findByName(namespaceId: string, name: string): Entity | undefined
  findByAlias(factors: AliasFactors): Entity | undefined
  findByAliasId(namespaceId: string, id: string): Entity | undefined
  list(namespaceId: string): Promise<readonly Entity[]>
  /**
   * Creates or changes an entity. Rejects with LogicalError 400 for an unknown ID and for the name of another entity.
   */
  putEntity(change: EntityChange): Promise<{ readonly entity: Entity; readonly isNew: boolean }>
  /** Removes the entity with all its aliases. Does nothing if the entity does not exist. */
  removeEntity(namespaceId: string, id: string): Promise<void>
  /**
   * Creates or changes an alias. Rejects with LogicalError 400 for an unknown ID, mount or entity, and if the entity
   * would have two aliases on one mount.
   */
  putAlias(change: AliasChange): Promise<{ readonly alias: EntityAlias; readonly entity: Entity }>
  removeAlias(namespaceId: string, id: string): Promise<void>
}
