import { type Change, operationOf } from './change.js'
import type { FrameEntry } from './log/frame.js'
import type { WalEntry, WalOperation } from './replicable.js'
import type { LoggedEntry } from './commit/stage.js'

/** The log entries of transactions of this cluster. */
export const entriesOfOwn = (changes: readonly Change[]): LoggedEntry[] => {
  const operations = changes.flatMap((change) => operationOf(change) ?? [])
  return operations.length === 0 ? [] : [entryOf(operations, operations)]
}

/** The log entries of an entry that another cluster has logged. */
export const entriesOfForeign = ({ operations, bytes }: WalEntry): LoggedEntry[] =>
  operations.length === 0 ? [] : [entryOf(operations, bytes ?? operations)]

const entryOf = (operations: readonly WalOperation[], content: FrameEntry): LoggedEntry => ({
  content,
  hasReplicated: operations.some(({ category }) => category === 'replicated'),
  hasLocal: operations.some(({ category }) => category === 'local'),
})
