/** The subset of JSON Schema that describes and validates lab files. */
export interface Schema {
  readonly type?: SchemaType | readonly SchemaType[]
  readonly const?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly propertyNames?: { readonly pattern: string; readonly title?: string }
  /** False: only the properties named above are allowed. */
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  /** Describes a value as a noun phrase for error messages: "a duration such as 80ms". */
  readonly title?: string
  readonly description?: string
  readonly default?: string | number | boolean
}

export type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null'
