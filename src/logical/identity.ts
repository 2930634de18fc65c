/**
 * Changes to entities and aliases, as endpoints pass them to the store. An undefined field was not sent and stays unchanged.
 */
export type Texts = Readonly<Record<string, string>>

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
