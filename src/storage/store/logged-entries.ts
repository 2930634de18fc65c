import { type Change, operationOf } from '../trees/change.js'
import type { FrameEntry } from '../log/frame.js'
import type { WalEntry, WalOperation } from '../keys/replicable.js'
import type { LoggedEntry, LoggedUnit } from '../commit/stage.js'

/** The log entries of a transaction, and the data logged with them. */
export type Logged = Pick<LoggedUnit, 'entries' | 'filtered' | 'remote'>

/** Returns the log entries of a transaction of this cluster. */
export const loggedOfOwn = (changes: readonly Change[]): Logged => {
  const operations: WalOperation[] = []
  for (const change of changes) {
    const operation = operationOf(change)
    if (operation) operations.push(operation)
  }
  const entries = operations.length === 0 ? [] : [entryOf(operations, operations)]
  return { entries, filtered: [], remote: undefined }
}

/** Returns the log entries of an entry from another cluster's log. */
export const entriesOfForeign = ({ operations, bytes }: WalEntry): LoggedEntry[] =>
  operations.length === 0 ? [] : [entryOf(operations, bytes ?? operations)]

const entryOf = (operations: readonly WalOperation[], content: FrameEntry): LoggedEntry => ({
  content,
  hasReplicated: operations.some(({ category }) => category === 'replicated'),
  hasLocal: operations.some(({ category }) => category === 'local'),
})
