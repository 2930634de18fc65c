/** The part of JSON Schema that files of the lab are described with, and checked by. */
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
  /** False: only what is named above. */
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  /** Describes a value as the end of a sentence: "a duration such as 80ms". */
  readonly title?: string
  readonly description?: string
  readonly default?: string | number | boolean
}

export type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null'
