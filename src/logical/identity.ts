/** Changes of entities and aliases, as the endpoints hand them to the store. Undefined was not sent, and stays. */
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
