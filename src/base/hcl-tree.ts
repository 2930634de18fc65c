/**
 * The common tree of HCL 1 and JSON documents. Every node has the line and column of its start, both from 1. `key { }`
 * and `key = { }` are the same object, as in HCL.
 */
export interface HclPosition {
  readonly line: number
  readonly column: number
}

export interface HclBody extends HclPosition {
  readonly items: readonly HclItem[]
}

/** `key = value`, or `key "label" ... { body }` with the object as its value. Keys may repeat. */
export interface HclItem extends HclPosition {
  readonly key: string
  readonly labels: readonly HclLabel[]
  readonly value: HclValue
}

export interface HclLabel extends HclPosition {
  readonly text: string
}

export type HclValue = HclPosition &
  (
    | { readonly kind: 'string'; readonly value: string }
    /** `text` is the number as written, `value` its value. */
    | { readonly kind: 'number'; readonly value: number; readonly text: string }
    | { readonly kind: 'bool'; readonly value: boolean }
    /** Only in JSON. */
    | { readonly kind: 'null' }
    | { readonly kind: 'list'; readonly values: readonly HclValue[] }
    | { readonly kind: 'object'; readonly body: HclBody }
  )

/** The error of all configuration parsers, with its position. */
export class HclError extends Error {
  override readonly name = 'HclError'
  readonly line: number
  readonly column: number
  readonly file: string | undefined
  /** The message without the position. */
  readonly reason: string

  constructor(reason: string, { line, column }: HclPosition, file?: string) {
    super(`${file === undefined ? '' : `${file}: `}line ${line}, column ${column}: ${reason}`)
    this.reason = reason
    this.line = line
    this.column = column
    this.file = file
  }
}
