/** What the identity endpoints need of whoever keeps the entities. Errors are LogicalErrors; `read-only` is forwarded. */
export type Texts = Readonly<Record<string, string>>

export interface Alias {
  readonly id: string
  readonly mountAccessor: string
  readonly name: string
  /** What the last login said. */
  readonly metadata: Texts
  /** What operators say. */
  readonly customMetadata: Texts
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface Entity {
  readonly id: string
  readonly name: string
  readonly namespaceId: string
  readonly metadata: Texts
  /** Null until somebody wrote them. */
  readonly policies: readonly string[] | null
  readonly isDisabled: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly aliases: readonly Alias[]
}

/** Undefined was not sent. */
export interface EntityChange {
  readonly namespaceId: string
  readonly id: string | undefined
  readonly name: string | undefined
  readonly metadata: Texts | undefined
  readonly policies: readonly string[] | undefined
  readonly isDisabled: boolean | undefined
}

/** Undefined was not sent. */
export interface AliasChange {
  readonly namespaceId: string
  readonly id: string | undefined
  readonly name: string | undefined
  readonly mountAccessor: string | undefined
  readonly canonicalId: string | undefined
  readonly customMetadata: Texts | undefined
}

export interface EntityDirectory {
  /** The mount of an accessor, as far as this cluster may see it. */
  findMount(accessor: string): { readonly type: string; readonly path: string } | undefined
  findById(namespaceId: string, id: string): Entity | undefined
  findByName(namespaceId: string, name: string): Entity | undefined
  findByAlias(factors: {
    readonly namespaceId: string
    readonly mountAccessor: string
    readonly name: string
  }): Entity | undefined
  findByAliasId(namespaceId: string, id: string): Entity | undefined
  list(namespaceId: string): Promise<readonly Entity[]>
  putEntity(change: EntityChange): Promise<{ readonly entity: Entity; readonly isNew: boolean }>
  removeEntity(namespaceId: string, id: string): Promise<void>
  putAlias(change: AliasChange): Promise<{ readonly alias: Alias; readonly entity: Entity }>
  removeAlias(namespaceId: string, id: string): Promise<void>
}
