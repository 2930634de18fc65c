/**
 * The part of the entity store that the identity endpoints need. Errors are LogicalErrors; requests that fail with
 * `read-only` are forwarded.
 */
import type { AliasChange, EntityChange, Texts } from '../../logical/identity.js'

export interface Alias {
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
  /** Null until written. */
  readonly policies: readonly string[] | null
  readonly isDisabled: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly aliases: readonly Alias[]
}

export interface EntityDirectory {
  /** Returns the mount with this accessor, if this cluster may see it. */
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
