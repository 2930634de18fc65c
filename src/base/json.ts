/**
 * Values of a JSON document. A number whose text JavaScript would not print back the same way (`1.50`, 20 digits) is a
 * `RawNumber`, so that what a client wrote can be answered as written.
 */
export type JsonValue = null | boolean | number | string | RawNumber | JsonValue[] | { [key: string]: JsonValue }
export type JsonObject = { [key: string]: JsonValue }

/** A JSON number kept as its text. */
export class RawNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

/** A JSON document that is sent as it stands, as text or as bytes. */
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
