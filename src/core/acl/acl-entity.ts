/** An entity for access rules. Immutable: the same object means the same content. */
export interface EntityView {
  readonly id: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
  readonly aliases: readonly EntityAliasView[]
}

export interface EntityAliasView {
  readonly mountAccessor: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
  readonly customMetadata: Readonly<Record<string, string>>
}
