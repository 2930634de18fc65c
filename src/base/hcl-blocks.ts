/** Reads blocks and values from an HCL tree. */
import { type HclBody, HclError, type HclLabel, type HclPosition, type HclValue } from './hcl-tree.js'

export interface HclBlock extends HclPosition {
  readonly labels: readonly string[]
  readonly body: HclBody
}

/**
 * Returns all blocks named `key` with exactly `labelCount` labels, in order and in any spelling: `key "a" { }`, `key =
 * { a = { } }`, and in JSON an object or a list of objects, with or without a list around each label. Ignores `null`.
 * Throws `HclError` for any other value.
 */
export const blocksOf = (body: HclBody, key: string, labelCount: number): HclBlock[] =>
  body.items
    .filter((item) => item.key === key)
    .flatMap((item) => {
      const extra = item.labels[labelCount]
      if (extra) throw new HclError(`${key} takes ${labelCount === 0 ? 'no label' : `${labelCount} label(s)`}`, extra)
      return descend(key, item.labels, item.value, labelCount, item)
    })

const descend = (
  key: string,
  labels: readonly HclLabel[],
  value: HclValue,
  labelCount: number,
  at: HclPosition,
): HclBlock[] => {
  if (value.kind === 'null') return []
  if (value.kind === 'list') return value.values.flatMap((one) => descend(key, labels, one, labelCount, one))
  if (value.kind !== 'object') throw new HclError(`${key} must be a block`, value)
  if (labels.length === labelCount) {
    return [{ labels: labels.map((label) => label.text), body: value.body, line: at.line, column: at.column }]
  }
  return value.body.items.flatMap((item) => {
    const deeper = [...labels, { text: item.key, line: item.line, column: item.column }, ...item.labels]
    const extra = deeper[labelCount]
    if (extra) throw new HclError(`${key} takes ${labelCount} label(s)`, extra)
    return descend(key, deeper, item.value, labelCount, item)
  })
}

export type PlainValue = null | boolean | number | string | PlainValue[] | { [key: string]: PlainValue }

/**
 * Returns a value as plain JSON. The last of several equal keys takes effect. Labels of nested blocks become nested
 * objects.
 */
export const plainValue = (value: HclValue): PlainValue => {
  switch (value.kind) {
    case 'null':
      return null
    case 'list':
      return value.values.map(plainValue)
    case 'object':
      return plainBody(value.body)
    default:
      return value.value
  }
}

const plainBody = (body: HclBody): { [key: string]: PlainValue } => {
  const plain: { [key: string]: PlainValue } = Object.create(null)
  for (const item of body.items) {
    plain[item.key] = item.labels.reduceRight<PlainValue>(
      (inner, label) => Object.assign(Object.create(null), { [label.text]: inner }),
      plainValue(item.value),
    )
  }
  return plain
}
