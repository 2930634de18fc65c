/** The subset of JSON Schema that the configuration document uses. */
export interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
}

/** Returns the first difference between a value and a schema, or undefined. */
export const findMismatch = (schema: Schema, value: unknown, at = '$'): string | undefined => {
  if (schema.anyOf)
    return schema.anyOf.some((one) => findMismatch(one, value) === undefined) ? undefined : `${at} is none of several`
  if (schema.type !== undefined && !isOfType(schema.type, value)) return `${at} is no ${schema.type}`
  if (schema.enum && !schema.enum.includes(value)) return `${at} is none of ${schema.enum.join(', ')}`
  if (Array.isArray(value))
    return first(value.map((item, index) => findMismatch(schema.items ?? {}, item, `${at}[${index}]`)))
  if (typeof value !== 'object' || value === null) return undefined
  const { properties = {}, required = [], additionalProperties = true } = schema
  const missing = required.find((name) => !(name in value))
  if (missing !== undefined) return `${at}.${missing} is missing`
  const surplus = additionalProperties ? undefined : Object.keys(value).find((name) => !(name in properties))
  if (surplus !== undefined) return `${at}.${surplus} is not described`
  return first(Object.entries(value).map(([name, item]) => findMismatch(properties[name] ?? {}, item, `${at}.${name}`)))
}

const first = (found: readonly (string | undefined)[]): string | undefined => found.find((one) => one !== undefined)

const isOfType = (type: string, value: unknown): boolean => {
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}
