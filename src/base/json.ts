import { attempt } from './attempt.js'

/**
 * A value of a JSON document. A number that JavaScript would print differently (`1.50`, 20 digits) is a `RawNumber`, so
 * that responses contain the number as the client sent it.
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

/** Returns true for an object, and false for a list, a scalar and a `RawNumber`. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)

/** Parses a JSON object or list. Returns undefined for any other text. */
export const parseJsonObject = (bytes: Buffer): Record<string, unknown> | undefined => {
  const value: unknown = attempt(() => JSON.parse(bytes.toString('utf8')))
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}

/** A JSON document, as text or bytes, that is sent unchanged. */
export class RawJson {
  readonly source: string | Buffer
  constructor(source: string | Buffer) {
    this.source = source
  }

  get text(): string {
    return typeof this.source === 'string' ? this.source : this.source.toString('utf8')
  }

  /** The size in characters or bytes. */
  get size(): number {
    return this.source.length
  }
}
