/** An identity as access rules see it. Replaced, never changed: the same object means the same content. */
export interface EntityView {
  readonly id: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
  readonly aliases: readonly EntityAlias[]
}

export interface EntityAlias {
  readonly mountAccessor: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
}
