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
}

/** A JSON document that is sent as the text it is. */
export class RawJson {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
