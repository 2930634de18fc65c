/**
 * The position of a node in an HCL tree, which represents HCL 1 and JSON documents. Lines and columns count from 1.
 * `key { }` and `key = { }` are the same object, as in HCL.
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
    /** `text` is the number as the document contains it. */
    | { readonly kind: 'number'; readonly value: number; readonly text: string }
    | { readonly kind: 'bool'; readonly value: boolean }
    /** Exists only in JSON. */
    | { readonly kind: 'null' }
    | { readonly kind: 'list'; readonly values: readonly HclValue[] }
    | { readonly kind: 'object'; readonly body: HclBody }
  )

/** The error of all parsers of configuration, with its position. */
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
