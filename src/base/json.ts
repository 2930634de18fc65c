/**
 * Values of a JSON document. A number that JavaScript would print differently (`1.50`, 20 digits) is a `RawNumber`, so
 * that responses return it as the client wrote it.
 */
export type JsonValue = null | boolean | number | string | RawNumber | JsonValue[] | { [key: string]: JsonValue }
export type JsonObject = { [key: string]: JsonValue }

/** A JSON number that keeps its text. */
export class RawNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)

/** A JSON document that is sent unchanged, as text or bytes. */
export class RawJson {
  readonly source: string | Buffer
  constructor(source: string | Buffer) {
    this.source = source
  }

  get text(): string {
    return typeof this.source === 'string' ? this.source : this.source.toString('utf8')
  }

  /** Characters or bytes. */
  get size(): number {
    return this.source.length
  }
}
