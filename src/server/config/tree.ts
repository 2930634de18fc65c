import { blocksOf, type HclBlock } from '../../base/hcl-blocks.js'
import { type HclBody, HclError, type HclItem } from '../../base/hcl-tree.js'
import { nearest } from '../../base/nearest.js'
import type { KeyTable } from './tables.js'
import { coerce, type Sourced } from './values.js'

/** A finding in the configuration. Problems prevent startup; warnings are printed. */
export interface Problem {
  readonly origin: string
  readonly text: string
}

export interface Findings {
  readonly problems: Problem[]
  readonly warnings: Problem[]
}

/** A stanza with its labels, its values by key, and its position. */
export interface Stanza {
  readonly label: string
  readonly origin: string
  readonly values: Record<string, Sourced>
  readonly body: HclBody
}

/** Returns the warning for an unknown name, with the closest known name as a suggestion. */
export const unknownField = (name: string, known: readonly string[]): string => {
  const meant = nearest(name, known)
  return `unknown or unsupported field ${name} found in configuration${meant ? `; did you mean ${meant}?` : ''}`
}

/** Reads the keys of one body by a table. Unknown keys cause warnings, wrong types problems. */
export const readKeys = (
  items: readonly HclItem[],
  table: KeyTable,
  file: string,
  findings: Findings,
): Record<string, Sourced> => {
  const out: Record<string, Sourced> = {}
  for (const item of items) {
    const origin = `${file}:${item.line}`
    const key = Object.hasOwn(table, item.key) ? table[item.key] : undefined
    if (!key) {
      findings.warnings.push({ origin, text: unknownField(item.key, Object.keys(table)) })
      continue
    }
    if (key.refusal) {
      findings.problems.push({ origin, text: `${item.key}: ${key.refusal}` })
      continue
    }
    if (key.warning) findings.warnings.push({ origin, text: `${item.key}: ${key.warning}` })
    if (item.value.kind === 'object' || (key.kind === 'any' && item.value.kind === 'list')) {
      if (key.kind !== 'any') findings.problems.push({ origin, text: `${item.key} must not be a block` })
      continue
    }
    const read = coerce(key.kind, item.value)
    if (read.ok) out[item.key] = { value: read.value, origin }
    else findings.problems.push({ origin, text: `${item.key} must be ${read.expected}` })
  }
  return out
}

/** Reads the `name "label" ... { }` blocks of a body, in every syntax. Any other value at that name is a problem. */
export const readBlocks = (
  body: HclBody,
  { name, labelCount }: { readonly name: string; readonly labelCount: 0 | 1 },
  file: string,
  findings: Findings,
): HclBlock[] => {
  try {
    return blocksOf(body, name, labelCount)
  } catch (error) {
    if (!(error instanceof HclError)) throw error
    findings.problems.push({ origin: `${file}:${error.line}`, text: error.reason })
    return []
  }
}
